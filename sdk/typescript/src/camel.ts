/** CamelKey is a name of the API as the client spells it: new_score becomes newScore. */
export type CamelKey<K extends string> = K extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelKey<Tail>>}`
  : K;

/** Camel is a JSON value of the API with its fields in camel case. */
export type Camel<T> = T extends readonly (infer Item)[]
  ? Camel<Item>[]
  : T extends object
    ? { [K in keyof T as K extends string ? CamelKey<K> : K]: Camel<T[K]> }
    : T;

/** camel renames the fields of a JSON value, but not those of a reward and of metadata, which are the game's. */
export function camel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camel);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    // fromEntries defines fields, so that "__proto__" is a field like any other.
    Object.entries(value).map(([key, item]) => [
      key.replace(/_([a-z])/g, (_, c: string) => c.toUpperCase()), key === "reward" || key === "metadata" ? item : camel(item),
    ]),
  );
}

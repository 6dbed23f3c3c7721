import { readFileSync } from "node:fs";

/** vectors reads a file of sdk/conformance. */
export function vectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../conformance/${name}`, import.meta.url), "utf8")) as T;
}

export interface Cases<T> {
  cases: T[];
}

/** only throws if a vector has a field that the runner does not know, so that none goes unchecked. */
export function only(vector: object, ...known: string[]): void {
  for (const key of Object.keys(vector)) {
    if (!known.includes(key)) throw new Error(`unknown field ${key}`);
  }
}

export interface Bounds {
  min_ms: number;
  max_ms: number;
}

/** The fake clock advances in steps of this many milliseconds. */
export const STEP = 10;

/** flush lets everything run that waits for nothing but other code. */
export async function flush(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Latest hands the latest value from one writer to one reader, who misses those between. */
export class Latest<T> {
  #value?: { value: T };
  #ended = false;
  #error: unknown;
  #wake?: () => void;

  put(value: T): void {
    this.#value = { value };
    this.#wake?.();
  }

  /** end makes the reader stop after the last value, or fail with the error. */
  end(error?: unknown): void {
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  async *read(): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const next = this.#value;
      this.#value = undefined;
      if (next) {
        yield next.value;
      } else if (this.#ended) {
        if (this.#error !== undefined) throw this.#error;
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}

import { createHash, randomUUID } from "node:crypto";
import { type FileHandle, link, open, readFile, rename, unlink, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import type { Queued, QueuedIncrement, QueueStore } from "./store.js";

/** Line is a line of the file: an increment that was added, or keys that were first sent, or removed. */
type Line = Queued | { sent: number[]; at: number } | { removed: number[] };

const openPaths = new Set<string>();

/** idOf identifies an event. A user id contains no space. */
const idOf = (i: QueuedIncrement): string => `${i.userId} ${i.eventId}`;

/**
 * FileStore keeps a queue in a file, which only its owner can read. An increment is on disk when
 * put returns. One process at a time can use the file.
 */
export class FileStore implements QueueStore {
  readonly #queued = new Map<number, Queued>();
  readonly #ids = new Map<string, number>();
  #file!: FileHandle;
  #lines = 0; // in the file
  #nextKey = 1;
  #unwritten: Line[] = [];
  #writing?: Promise<void>; // the write after the one in progress
  #last: Promise<void> = Promise.resolve();
  #broken?: unknown;

  private constructor(readonly path: string) {}

  /** open reads the file, or creates it. */
  static async open(path: string): Promise<FileStore> {
    const store = new FileStore(resolve(path));
    await lock(store.path);
    try {
      await store.#load();
      await store.#compact();
    } catch (error) {
      await unlock(store.path);
      throw error;
    }
    return store;
  }

  async put(increment: QueuedIncrement, max: number): Promise<QueuedIncrement | undefined> {
    const known = this.#ids.get(idOf(increment));
    if (known !== undefined) {
      await this.#writing; // so that it is on disk
      await this.#last;
      return this.#queued.get(known)?.increment ?? increment;
    }
    if (this.#queued.size >= max) return undefined;
    const added = { key: this.#nextKey++, increment };
    this.#apply(added);
    await this.#write(added);
    return increment;
  }

  async first(limit: number): Promise<Queued[]> {
    await this.#last;
    const first: Queued[] = [];
    for (const queued of this.#queued.values()) {
      if (first.push({ ...queued }) === limit) break;
    }
    return first;
  }

  async sending(keys: number[], at: number): Promise<void> {
    this.#apply({ sent: keys, at });
    await this.#write({ sent: keys, at });
  }

  async remove(keys: number[]): Promise<void> {
    this.#apply({ removed: keys });
    await this.#write({ removed: keys });
  }

  async size(): Promise<number> {
    return this.#queued.size;
  }

  /** The file is locked since it was opened, so work runs at once. */
  exclusively(work: () => Promise<void>): Promise<void> {
    return work();
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#last;
    await this.#file.close();
    await unlock(this.path);
  }

  #apply(line: Line): void {
    if ("removed" in line) {
      for (const key of line.removed) {
        const queued = this.#queued.get(key);
        if (queued) this.#ids.delete(idOf(queued.increment));
        this.#queued.delete(key);
      }
      return;
    }
    if ("sent" in line) {
      for (const key of line.sent) {
        const queued = this.#queued.get(key);
        if (queued) this.#queued.set(key, { ...queued, firstSent: line.at });
      }
      return;
    }
    this.#queued.set(line.key, line);
    this.#ids.set(idOf(line.increment), line.key);
    this.#nextKey = Math.max(this.#nextKey, line.key + 1);
  }

  /** Appends a line. Lines that are added during a write are written together after it. */
  #write(line: Line): Promise<void> {
    this.#unwritten.push(line);
    this.#writing ??= this.#last.catch(() => {}).then(() => {
      this.#writing = undefined;
      return (this.#last = this.#append(this.#unwritten.splice(0)));
    });
    return this.#writing;
  }

  async #append(lines: Line[]): Promise<void> {
    // After a failed write the file may end in half a line, so nothing may follow it.
    if (this.#broken) throw this.#broken;
    try {
      await this.#file.appendFile(textOf(lines));
      await this.#file.datasync();
      this.#lines += lines.length;
      if (this.#lines > 1_000 + 2 * this.#queued.size) await this.#compact();
    } catch (error) {
      this.#broken = error;
      throw error;
    }
  }

  async #load(): Promise<void> {
    const text = await readFile(this.path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    const lines = text.split("\n");
    lines.pop(); // empty, or half a line of a put that never returned
    lines.forEach((line, n) => {
      try {
        this.#apply(JSON.parse(line) as Line);
      } catch (cause) {
        throw new Error(`line ${n + 1} of ${this.path} is damaged`, { cause });
      }
    });
  }

  /** Replaces the file by one with only what waits. */
  async #compact(): Promise<void> {
    const path = `${this.path}.new`;
    const file = await open(path, "w", 0o600);
    const waiting = [...this.#queued.values()];
    await file.writeFile(textOf(waiting));
    await file.sync();
    await rename(path, this.path);
    await syncFolder(this.path);
    await this.#file?.close();
    this.#file = file;
    this.#lines = waiting.length;
  }
}

const textOf = (lines: Line[]): string => lines.map((line) => JSON.stringify(line) + "\n").join("");

/** Makes a rename durable, where the system can. */
async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(dirname(path), "r");
  await folder.sync().finally(() => folder.close());
}

const lockOf = (path: string): string => `${path}.lock`;

/** What a lock contains: the process, and what tells its locks apart. */
const newHolder = (): string => `${process.pid} ${randomUUID()}`;

/** Locks a file by another beside it, which names this process. The lock of a process that ended is void. */
async function lock(path: string): Promise<void> {
  if (openPaths.has(path)) throw new Error(`${path} is already open`);
  openPaths.add(path);
  const draft = `${lockOf(path)}.${randomUUID()}`;
  try {
    await writeFile(draft, newHolder(), { flag: "wx", mode: 0o600 });
    while (!(await linked(draft, lockOf(path)))) {
      const holder = await readFile(lockOf(path), "utf8").catch(missing);
      if (holder === undefined) continue; // unlocked meanwhile
      const pid = Number(holder.split(" ")[0]);
      if (pid > 0 && pid !== process.pid && runs(pid)) throw new Error(`${path} is in use by process ${pid}`);
      await removeVoid(path, holder);
    }
  } catch (error) {
    openPaths.delete(path);
    throw error;
  } finally {
    await unlink(draft).catch(missing);
  }
}

/** Links a file, which has its content from the start, under another name, unless that exists. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes the lock of a holder that ended. Several processes may have seen it, and one of them may have
 * its own lock there already: only the process that creates the claim on this holder's lock may remove it.
 */
async function removeVoid(path: string, holder: string): Promise<void> {
  const claim = `${lockOf(path)}.${createHash("sha256").update(holder).digest("hex").slice(0, 16)}`;
  try {
    await (await open(claim, "wx", 0o600)).close();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new Error(`another process is opening ${path}; if none is, delete ${claim}`, { cause: error });
  }
  try {
    if ((await readFile(lockOf(path), "utf8").catch(missing)) === holder) await unlink(lockOf(path));
  } finally {
    await unlink(claim);
  }
}

/** Ignores that a file does not exist. */
function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

async function unlock(path: string): Promise<void> {
  openPaths.delete(path);
  await unlink(lockOf(path));
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

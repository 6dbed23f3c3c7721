import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import type { Options } from "@scoreboard/client";

const bin = (name: string): string => fileURLToPath(new URL(`../../../bin/${name}`, import.meta.url));

/** freePort is a port of this machine on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** until waits for a condition, for 60 s at most. */
export async function until(what: string, done: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 60_000; !(await done()); ) {
    if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Daemon is a scoreboardd with its backends. */
export class Daemon {
  readonly dir = mkdtempSync(join(tmpdir(), "scoreboard-sdk-"));
  readonly #flags: string[];
  #process: ChildProcess | undefined;
  #log = "";

  private constructor(readonly port: number, readonly opsPort: number, flags: string[]) {
    this.#flags = flags;
  }

  /** start runs a daemon; bin/scoreboardd and bin/sbctl must have been built. */
  static async start(...flags: string[]): Promise<Daemon> {
    const daemon = new Daemon(await freePort(), await freePort(), flags);
    await daemon.run();
    return daemon;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** run starts the process, again after kill. */
  async run(): Promise<void> {
    const child = spawn(bin("scoreboardd"), [
      "dev", "--data", this.dir, "--addr", `127.0.0.1:${this.port}`, "--ops-addr", `127.0.0.1:${this.opsPort}`,
      ...this.#flags,
    ], { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (this.#log += String(text)));
    let ended = false;
    child.on("exit", () => (ended = true));
    this.#process = child;
    await until("the daemon", async () => {
      if (ended) throw new Error(`scoreboardd ended:\n${this.#log}`);
      return fetch(`http://127.0.0.1:${this.opsPort}/readyz`).then((r) => r.ok, () => false);
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.#log.slice(-4000)}`);
    });
  }

  /** credentials are those of a game server. */
  credentials(): Required<Pick<Options, "server" | "token" | "keyId" | "keySecret">> {
    const lines = readFileSync(join(this.dir, "sbctl.env"), "utf8").split("\n");
    const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
    return {
      server: this.url, token: env["SBCTL_TOKEN"] ?? "", keyId: env["SBCTL_KEY_ID"] ?? "",
      keySecret: env["SBCTL_KEY_SECRET"] ?? "",
    };
  }

  /** token is one of a user. */
  token(user: string, ...more: string[]): string {
    return this.sbctl("token", "mint", "--user", user, ...more).trim();
  }

  sbctl(...args: string[]): string {
    const { server, token, keyId, keySecret } = this.credentials();
    return execFileSync(bin("sbctl"), args, {
      encoding: "utf8", cwd: this.dir,
      env: {
        ...process.env, SBCTL_SERVER: server, SBCTL_TOKEN: String(token), SBCTL_KEY_ID: keyId, SBCTL_KEY_SECRET: keySecret,
      },
    });
  }

  /** kill ends the process as kill -9 does. Its backends end with it and keep their data. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await exited;
  }

  async stop(): Promise<void> {
    await this.kill("SIGTERM");
    rmSync(this.dir, { recursive: true, force: true });
  }
}

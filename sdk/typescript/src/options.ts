import type { TokenSource } from "./token.js";
import type { WebSocketClass } from "./watch/ws.js";

/** Options configure a client. */
export interface Options {
  /** Address of the server, such as "https://scores.example.com". */
  server?: string;
  /** The bearer token, or what returns it for each try, such as renewing(…). */
  token?: string | TokenSource;
  /** Id and secret of the key that signs writes. A secret belongs on a server, never in a web page. */
  keyId?: string;
  keySecret?: string;
  /** Maximum number of tries of a call; 5 by default. */
  attempts?: number;
  /** Maximum time of one try in milliseconds; 10,000 by default. A signal limits the whole call. */
  timeout?: number;
  /** Replaces the global fetch. */
  fetch?: typeof fetch;
  /** Replaces the global WebSocket; false does without, for networks that block it. */
  webSocket?: WebSocketClass | false;
}

/** Settings are the options in effect. */
export interface Settings {
  /** Without a slash at its end. */
  server: string;
  token: string | TokenSource;
  keyId: string;
  keySecret: string;
  attempts: number;
  timeout: number;
  fetch: typeof fetch;
  webSocket: WebSocketClass | false;
  /** Recorded in the server's audit trail. A page cannot set it, so there it is "". */
  userAgent: string;
}

interface Host {
  process?: { env?: Record<string, string | undefined>; versions?: { node?: string } };
  WebSocket?: WebSocketClass;
}

/** settingsOf checks options. Without a server, it reads the SBCTL_ variables of the environment. */
export function settingsOf(options: Options): Settings {
  const host = globalThis as Host;
  let given = options;
  if (given.server === undefined) {
    // All or none, so that credentials never go to another server than theirs.
    const env = host.process?.env ?? {};
    given = {
      server: env["SBCTL_SERVER"], token: env["SBCTL_TOKEN"],
      keyId: env["SBCTL_KEY_ID"], keySecret: env["SBCTL_KEY_SECRET"], ...options,
    };
  }
  const { server, keyId = "", keySecret = "" } = given;
  if (!server) throw new TypeError("no server: pass { server } or set SBCTL_SERVER");
  if (!keyId !== !keySecret) throw new TypeError("a signing key requires both keyId and keySecret");
  return {
    server: baseOf(server),
    token: given.token ?? "",
    keyId,
    keySecret,
    attempts: given.attempts || 5,
    timeout: given.timeout || 10_000,
    fetch: given.fetch ?? ((input, init) => fetch(input, init)),
    webSocket: given.webSocket ?? host.WebSocket ?? false,
    userAgent: host.process?.versions?.node ? "scoreboard-typescript/1.0.0" : "",
  };
}

function baseOf(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`invalid server address "${server}": must be of the form https://host:port`);
  }
  return url.origin + url.pathname.replace(/\/$/, "");
}

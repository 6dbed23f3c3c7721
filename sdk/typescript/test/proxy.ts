import { createServer, connect, type Server, type Socket } from "node:net";

/** Proxy is a TCP proxy to a port of this machine, whose connections can be slow, cut and refused. */
export class Proxy {
  /** Delay of each piece of data in each direction, in milliseconds. */
  delay = 0;
  /** Probability that a connection breaks instead of passing on a piece of a response. */
  cut = 0;
  /** Number of responses lost to cut. */
  lost = 0;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  port = 0;

  constructor(readonly target: number) {
    this.#server = createServer((client) => {
      const server = connect(this.target, "127.0.0.1");
      this.#pass(client, server, () => false);
      this.#pass(server, client, () => Math.random() < this.cut);
    });
  }

  /** open makes the proxy listen, again on the same port after close. */
  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.port, "127.0.0.1", resolve));
    this.port = (this.#server.address() as { port: number }).port;
  }

  /** close refuses connections and breaks those that are open. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  #pass(from: Socket, to: Socket, breaks: () => boolean): void {
    this.#sockets.add(from);
    const end = (): void => {
      from.destroy();
      to.destroy();
      this.#sockets.delete(from);
    };
    from.on("error", end).on("close", end);
    from.on("data", (data) => {
      if (breaks()) {
        this.lost++;
        return end();
      }
      // Timers of equal delay fire in order.
      if (this.delay > 0) setTimeout(() => to.writable && to.write(data), this.delay);
      else if (to.writable) to.write(data);
    });
  }
}

import type { WebSocket } from "ws";
import type { Identity } from "../auth/identity.ts";
import type { Frame } from "./frames.ts";
import { type Address, Budget, type Limits, Rate } from "./limits.ts";
import { decodeBinary, decodeText, encode, type Message, type Reference, type Version } from "./protocol.ts";

/** What the server needs of the channel of a joined topic. */
export interface JoinedChannel {
  receive(message: Message): Promise<void>;
  end(event: "phx_close" | "phx_error"): void;
  leave(): void;
}

/** One websocket: processes messages in order, and disconnects clients that send too much or read too slowly. */
export class Connection {
  readonly channels = new Map<string, JoinedChannel>();
  private heardAt = performance.now();
  private work: Promise<void> = Promise.resolve();
  private unread = 0;
  readonly budget: Budget;
  private readonly rate: Rate;

  constructor(
    private readonly core: { limits: Limits; onRefusal(what: string, address: string): void },
    private readonly socket: WebSocket,
    private readonly address: Address,
    readonly version: Version,
    /** Identity of the handshake's API key. */
    readonly guest: Identity,
    private readonly handle: (connection: Connection, message: Message) => Promise<void>,
  ) {
    const { limits, onRefusal } = core;
    this.rate = new Rate(limits.messagesPerSecond);
    this.budget = new Budget(limits.keptBytes, address.budget, () =>
      onRefusal("to keep more for a socket", address.name),
    );
    socket.on("message", (data: Buffer, binary) => {
      try {
        this.receive(data, binary);
      } catch {
        // Whatever one client sends must not end the process.
        socket.terminate();
      }
    });
    for (const control of ["ping", "pong"])
      socket.on(control, () => {
        if (!this.isAllowed(performance.now(), 0)) socket.terminate();
      });
    socket.on("error", (error) => {
      if ("code" in error && error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH")
        onRefusal(`messages over ${limits.frameSize} bytes`, address.name);
      socket.terminate();
    });
  }

  push(topic: string, event: string, payload: string, joinRef: string | null = null, ref: string | null = null): void {
    this.write(encode(this.version, topic, event, payload, joinRef, ref));
  }

  reply({ topic, joinRef, ref }: Reference, status: "ok" | "error", response: object = {}): void {
    this.push(topic, "phx_reply", JSON.stringify({ status, response }), joinRef, ref);
  }

  /** Returns the number of bytes. */
  send(frame: Frame, topic: string): number {
    const data = frame.bytes(this.version, topic);
    this.write(data);
    return data.length;
  }

  get addressName(): string {
    return this.address.name;
  }

  /** Queries of a join wait for those of other joins of the address, so that other addresses need not. */
  query<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.address.lastQuery.then(() => {
      if (!this.isOpen()) throw new Error("The socket was closed.");
      return work();
    });
    this.address.lastQuery = result.catch(() => undefined);
    return result;
  }

  isSilent(now: number): boolean {
    return now - this.heardAt > this.core.limits.silence;
  }

  terminate(): void {
    this.socket.terminate();
  }

  close(code: number, reason: string): void {
    this.socket.close(code, reason);
  }

  isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  private write(data: string | Buffer): void {
    if (!this.isOpen()) return;
    this.socket.send(data, { binary: false }, this.countUnread);
    this.countUnread();
  }

  private readonly countUnread = () => {
    const unread = this.socket.bufferedAmount;
    if (unread === this.unread) return;
    if (this.budget.take(unread - this.unread)) this.unread = unread;
    else this.terminate();
  };

  private isAllowed(now: number, bytes: number): boolean {
    if (this.rate.allows(now, bytes) && this.address.rate.allows(now, bytes)) return true;
    this.core.onRefusal("messages that come too fast", this.address.name);
    return false;
  }

  private receive(data: Buffer, binary: boolean): void {
    this.heardAt = performance.now();
    if (!this.isAllowed(this.heardAt, data.length)) this.close(1008, "Too many messages per second");
    else this.accept(binary ? decodeBinary(data) : decodeText(this.version, data.toString()), data.length);
  }

  private accept(message: Message | null, bytes: number): void {
    const { limits, onRefusal } = this.core;
    if (message === null) this.close(1003, "This is not a message");
    else if (bytes > limits.messageSize) {
      onRefusal(`messages over ${limits.messageSize} bytes`, this.address.name);
      this.reply(message, "error", { reason: `The message is larger than ${limits.messageSize} bytes` });
    } else if (!this.budget.take(bytes)) this.close(1008, "Too many messages wait");
    else
      this.work = this.work
        .then(() => this.handle(this, message))
        .catch(() => this.terminate())
        .finally(() => this.budget.take(-bytes));
  }
}

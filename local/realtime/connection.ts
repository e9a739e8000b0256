import type { WebSocket } from "ws";
import type { Identity } from "../identity.ts";
import type { Channel } from "./channel.ts";
import type { Frame } from "./frames.ts";
import type { Limits } from "./limits.ts";
import { decodeBinary, decodeText, encode, type Message, type Version } from "./protocol.ts";

const maxQueued = 500;

/** One websocket: processes messages in order, and disconnects clients that send too much or read too slowly. */
export class Connection {
  readonly channels = new Map<string, Channel>();
  private heardAt = Date.now();
  private waiting = 0;
  private work: Promise<void> = Promise.resolve();
  private allowance: number;
  private countedAt = Date.now();

  constructor(
    private readonly socket: WebSocket,
    readonly version: Version,
    /** Identity of the handshake's API key. */
    readonly guest: Identity,
    private readonly limits: Limits,
    private readonly handle: (connection: Connection, message: Message) => Promise<void>,
  ) {
    this.allowance = limits.messagesPerSecond * 10;
    socket.on("message", (data: Buffer, binary) => this.receive(data, binary));
    socket.on("error", () => socket.terminate());
  }

  push(
    topic: string,
    event: string,
    payload: string,
    joinRef: string | null = null,
    ref: string | null = null,
  ): void {
    this.write(encode(this.version, topic, event, payload, joinRef, ref), false);
  }

  reply(to: Message, status: "ok" | "error", response: unknown = {}): void {
    this.push(to.topic, "phx_reply", JSON.stringify({ status, response }), to.joinRef, to.ref);
  }

  send(frame: Frame, topic: string): void {
    const bytes = frame.bytes(this.version, topic);
    if (bytes) this.write(bytes.data, bytes.binary);
  }

  isSilent(now: number): boolean {
    return now - this.heardAt > this.limits.silence;
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

  private write(data: string | Buffer, binary: boolean): void {
    if (!this.isOpen()) return;
    this.socket.send(data, { binary });
    if (this.socket.bufferedAmount > this.limits.unreadBytes) this.socket.terminate();
  }

  private receive(data: Buffer, binary: boolean): void {
    this.heardAt = Date.now();
    this.waiting++;
    if (!this.isWithinRate() || this.waiting > maxQueued) {
      this.close(1008, "Too many messages per second");
      return;
    }
    const message = binary ? decodeBinary(data) : decodeText(this.version, data.toString());
    if (message === null) {
      this.close(1003, "This is not a message");
      return;
    }
    this.work = this.work
      .then(() => this.handle(this, message))
      .catch(() => this.terminate())
      .finally(() => this.waiting--);
  }

  private isWithinRate(): boolean {
    const { messagesPerSecond } = this.limits;
    const earned = ((this.heardAt - this.countedAt) / 1000) * messagesPerSecond;
    this.allowance = Math.min(messagesPerSecond * 10, this.allowance + earned) - 1;
    this.countedAt = this.heardAt;
    return this.allowance >= 0;
  }
}

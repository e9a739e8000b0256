import { randomUUID } from "node:crypto";
import { type Identity, identityOfToken, TokenError } from "../identity.ts";
import { allRights, type Rights } from "./authorization.ts";
import type { Connection } from "./connection.ts";
import type { Core } from "./core.ts";
import { FilterError } from "./filters.ts";
import { BytesFrame, broadcastFrame, type Frame } from "./frames.ts";
import { isObject, type Message } from "./protocol.ts";
import { type Binding, checkBinding, type Subscription } from "./subscriptions.ts";
import { topicKey } from "./topics.ts";

const prefix = "realtime:";
// As hosted: re-checks the token at least this often.
const maxTrustMs = 5 * 60_000;

class JoinError extends Error {}

/** A topic that a connection has joined, and its identity there. */
export class Channel {
  identity: Identity;
  private token: string | null = null;
  private rights: Rights = allRights;
  private subscriptions: Subscription<Channel>[] = [];
  private expiry: NodeJS.Timeout | undefined;
  private joined = false;
  private ended = false;
  private readonly name: string;
  private readonly options: Options;
  private readonly key: string;
  private tracks = false;

  constructor(
    private readonly core: Core,
    readonly connection: Connection,
    private readonly join: Message,
  ) {
    this.name = join.topic.slice(prefix.length);
    this.options = readOptions(join.payload);
    this.key = topicKey(this.name, this.options.isPrivate);
    this.identity = connection.guest;
  }

  get hearsBroadcasts(): boolean {
    return this.rights.broadcast;
  }

  get hearsPresence(): boolean {
    return this.rights.presence && (this.options.presence || this.tracks || !this.options.isPrivate);
  }

  isJoined(): boolean {
    return this.joined;
  }

  /** Replies to the join message. */
  async open(): Promise<void> {
    try {
      await this.enter();
    } catch (error) {
      if (this.ended) return;
      this.leave();
      this.connection.reply(this.join, "error", { reason: reasonOf(error) });
    }
  }

  private async enter(): Promise<void> {
    if (!this.join.topic.startsWith(prefix) || this.name === "")
      throw new JoinError("You must provide a topic name");
    if (Buffer.byteLength(this.join.topic) > this.core.limits.topicLength)
      throw new JoinError("The topic is too long");
    if (!this.core.isUp()) throw new JoinError("Realtime was unable to connect to the project database");
    const { bindings } = this.options;
    if (bindings.length > this.core.limits.bindingsPerChannel)
      throw new JoinError("Too many postgres_changes on one channel");
    const token = tokenOf(this.join.payload);
    if (token !== null) this.identity = await identityOfToken(this.core.keys, token);
    this.token = token;
    this.rights = await this.readRights();
    if (this.ended) return;
    this.joined = true;
    this.watchToken();
    this.core.topics.join(this.key, this);
    const checked = await this.subscribe();
    if (this.ended) return;
    const echoed = bindings.map((requested, index) => ({
      ...(isObject(requested) ? requested : {}),
      id: bindingId(bindings, index),
    }));
    this.connection.reply(this.join, "ok", { postgres_changes: echoed });
    if (this.options.presence && this.rights.presence)
      this.push("presence_state", this.core.topics.present(this.key));
    if (checked !== null) this.system("postgres_changes", checked.status, checked.message);
    if (this.options.replicationReady) this.system("system", "ok", "Replication connection established");
  }

  /** Validates all bindings for the current identity and replaces the previous ones without a gap. */
  private async subscribe(): Promise<{ status: "ok" | "error"; message: string } | null> {
    const { bindings } = this.options;
    if (bindings.length === 0) return null;
    const { sql, catalog, subscriptions } = this.core;
    const identity = this.identity;
    let accepted: Binding[] = [];
    let outcome: { status: "ok" | "error"; message: string } = {
      status: "ok",
      message: "Subscribed to PostgreSQL",
    };
    try {
      accepted = await Promise.all(
        bindings.map((requested, index) =>
          checkBinding(sql, catalog, identity, requested, bindingId(bindings, index)),
        ),
      );
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      outcome = { status: "error", message: error.message };
    }
    for (const old of this.subscriptions) subscriptions.remove(old);
    this.subscriptions = this.joined
      ? accepted.map((binding) => ({ ...binding, owner: this, identity }))
      : [];
    for (const subscription of this.subscriptions) subscriptions.add(subscription);
    return outcome;
  }

  private async readRights(): Promise<Rights> {
    if (!this.options.isPrivate) return allRights;
    const rights = await this.core.authorization.toRead(this.identity, this.name);
    if (!rights.broadcast && !rights.presence)
      throw new JoinError(`You do not have permissions to read from this Channel topic: ${this.name}`);
    return rights;
  }

  async receive(message: Message): Promise<void> {
    switch (message.event) {
      case "phx_leave":
        this.leave();
        this.connection.reply(message, "ok");
        this.push("phx_close", "{}", true);
        return;
      case "access_token":
        return this.renew(tokenOf(message.payload));
      case "broadcast":
        return this.broadcast(message);
      case "presence":
        return this.presence(message);
    }
  }

  /** A new token: usually of the same user; no change is missed. */
  private async renew(token: string | null): Promise<void> {
    if (token === null || token === this.token) return;
    const before = this.rights;
    try {
      this.identity = await identityOfToken(this.core.keys, token);
      this.token = token;
      this.rights = await this.readRights();
      if ((before.broadcast && !this.rights.broadcast) || (before.presence && !this.rights.presence))
        throw new JoinError(`You no longer have permission to read from this Channel topic: ${this.name}`);
    } catch (error) {
      if (!this.ended) this.shutDown(reasonOf(error));
      return;
    }
    if (this.ended) return;
    this.watchToken();
    const checked = await this.subscribe();
    if (checked !== null && !this.ended) this.system("postgres_changes", checked.status, checked.message);
  }

  private async broadcast(message: Message): Promise<void> {
    const { payload } = message;
    if (!isObject(payload) || typeof payload.event !== "string") return;
    if (
      this.options.isPrivate &&
      !(await this.core.authorization.toWrite(this.identity, this.name)).broadcast
    )
      return;
    const frame = Buffer.isBuffer(payload.payload)
      ? new BytesFrame(payload.event, payload.payload)
      : broadcastFrame(payload.event, JSON.stringify(payload.payload ?? {}));
    this.core.topics.broadcast(this.key, frame, this.options.self ? undefined : this);
    if (this.options.ack) this.connection.reply(message, "ok");
  }

  private async presence(message: Message): Promise<void> {
    const { payload } = message;
    const event = isObject(payload) ? String(payload.event).toLowerCase() : "";
    if (event === "untrack") this.core.topics.untrack(this.key, this);
    else if (event === "track") {
      const meta = isObject(payload) ? (payload.payload ?? {}) : {};
      if (!isObject(meta))
        return this.connection.reply(message, "error", { reason: "Presence track payload must be a map" });
      if (
        this.options.isPrivate &&
        !(await this.core.authorization.toWrite(this.identity, this.name)).presence
      )
        return this.connection.reply(message, "error");
      this.tracks = true;
      this.core.topics.track(this.key, this, this.options.presenceKey, meta);
    } else return this.connection.reply(message, "error");
    this.connection.reply(message, "ok");
  }

  /** Re-checks when tokens expire or access may have changed. */
  private watchToken(): void {
    clearTimeout(this.expiry);
    const left = this.identity.expiresAt === null ? maxTrustMs : this.identity.expiresAt * 1000 - Date.now();
    this.expiry = setTimeout(() => this.recheck(), Math.max(0, Math.min(left, maxTrustMs)));
    this.expiry.unref();
  }

  private async recheck(): Promise<void> {
    try {
      if (this.token !== null) await identityOfToken(this.core.keys, this.token);
      const rights = await this.readRights();
      if (!this.joined) return;
      this.rights = rights;
      this.watchToken();
    } catch (error) {
      if (this.joined) this.shutDown(reasonOf(error));
    }
  }

  send(frame: Frame): void {
    this.connection.send(frame, this.join.topic);
  }

  /** Closes the channel with a reason for the client. */
  private shutDown(reason: string): void {
    this.system("system", "error", reason);
    this.leave();
    this.push("phx_close", "{}", true);
  }

  /** Changes may have been missed: the client rejoins and notifies its application. */
  fail(): void {
    this.leave();
    this.push("phx_error", "{}", true);
  }

  /** A newer join of the same topic by this connection replaces it. */
  supersede(): void {
    this.leave();
    this.push("phx_close", "{}", true);
  }

  leave(): void {
    clearTimeout(this.expiry);
    if (this.joined) this.core.topics.leave(this.key, this);
    this.joined = false;
    this.ended = true;
    for (const subscription of this.subscriptions) this.core.subscriptions.remove(subscription);
    this.subscriptions = [];
    if (this.connection.channels.get(this.join.topic) === this)
      this.connection.channels.delete(this.join.topic);
  }

  private system(extension: "system" | "postgres_changes", status: "ok" | "error", message: string): void {
    this.push("system", JSON.stringify({ extension, status, message, channel: this.name }));
  }

  private push(event: string, payload: string, closing = false): void {
    this.connection.push(
      this.join.topic,
      event,
      payload,
      this.join.joinRef,
      closing ? this.join.joinRef : null,
    );
  }
}

interface Options {
  isPrivate: boolean;
  self: boolean;
  ack: boolean;
  replicationReady: boolean;
  presence: boolean;
  presenceKey: string;
  bindings: unknown[];
}

function readOptions(payload: unknown): Options {
  const config = part(payload, "config");
  const [broadcast, presence, changes] = [
    part(config, "broadcast"),
    part(config, "presence"),
    config.postgres_changes,
  ];
  return {
    isPrivate: config.private === true,
    self: broadcast.self === true,
    ack: broadcast.ack === true,
    replicationReady: broadcast.replication_ready === true,
    presence: presence.enabled === true,
    presenceKey: typeof presence.key === "string" && presence.key !== "" ? presence.key : randomUUID(),
    bindings: Array.isArray(changes) ? changes.filter((requested) => requested !== null) : [],
  };
}

function part(value: unknown, name: string): Record<string, unknown> {
  const member = isObject(value) ? value[name] : undefined;
  return isObject(member) ? member : {};
}

/** An API key instead of a token adds nothing to the handshake. */
function tokenOf(payload: unknown): string | null {
  const token = isObject(payload) ? payload.access_token : null;
  return typeof token === "string" && token !== "" && !token.startsWith("sb_") ? token : null;
}

/** A stable id for equal bindings, so that subscribers share frames. */
function bindingId(bindings: unknown[], index: number): number {
  const text = JSON.stringify(bindings[index]);
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 1) + 1;
}

function reasonOf(error: unknown): string {
  if (error instanceof JoinError || error instanceof TokenError) return error.message;
  return "Realtime was unable to connect to the project database";
}

import { type Identity, identityOfToken, type Keys, TokenError } from "../auth/identity.ts";
import type { Sql } from "../postgres/database.ts";
import type { createAuthorization } from "./authorization.ts";
import type { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import { FilterError } from "./filters.ts";
import type { Frame } from "./frames.ts";
import type { Limits } from "./limits.ts";
import { isObject, type Message, notHere, type Reference } from "./protocol.ts";
import {
  acceptBindings,
  type Binding,
  bytesOf,
  type Requested,
  readBindings,
  readRequested,
  type Subscription,
  type Subscriptions,
} from "./subscriptions.ts";

/** State shared by all channels. */
export interface Core {
  keys: Keys;
  limits: Limits;
  /** For the delivery of changes. */
  sql: Sql;
  /** For joins, which must not delay the delivery. */
  joinSql: Sql;
  catalog: Catalog;
  mayRead: ReturnType<typeof createAuthorization>;
  subscriptions: Subscriptions<Channel>;
  /** Channels by topic. A private and a public topic of the same name are unrelated. */
  topics: Map<string, Set<Channel>>;
  onWarning(message: string): void;
  /** Warns once an hour that a client was refused `what`. */
  onRefusal(what: string, address: string): void;
  /** Whether changes arrive from Postgres. */
  isUp(): boolean;
}

export const topicKey = (name: string, isPrivate: boolean) => `${isPrivate ? "private" : "public"}:${name}`;

const prefix = "realtime:";
// The object with its timer and its places in maps.
const bytesOfChannel = 2048;

class JoinError extends Error {}

/** A topic that a connection has joined, and its identity there. Keeps nothing else of the join message. */
export class Channel {
  private identity: Identity;
  private token: string | null = null;
  private subscriptions: Subscription<Channel>[] = [];
  private expiry: NodeJS.Timeout | undefined;
  joined = false;
  private ended = false;
  private keptBytes = 0;
  private readonly reference: Reference;
  private readonly name: string;
  private readonly options: Options;
  private readonly key: string;

  constructor(
    private readonly core: Core,
    readonly connection: Connection,
    { topic, joinRef, ref, payload }: Message,
  ) {
    this.reference = { topic, joinRef, ref };
    this.name = topic.slice(prefix.length);
    this.options = readOptions(payload);
    this.key = topicKey(this.name, this.options.isPrivate);
    this.identity = connection.guest;
  }

  get topic(): string {
    return this.reference.topic;
  }

  /** Replies to the join message. */
  async open(payload: unknown): Promise<void> {
    try {
      await this.enter(payload);
    } catch (error) {
      if (this.ended) return;
      this.leave();
      this.connection.reply(this.reference, "error", { reason: reasonOf(error) });
    }
  }

  private async enter(payload: unknown): Promise<void> {
    const { limits, topics } = this.core;
    if (!this.topic.startsWith(prefix) || this.name === "") throw new JoinError("You must provide a topic name");
    if (Buffer.byteLength(this.topic) > limits.topicLength) throw new JoinError("The topic is too long");
    if (!this.core.isUp()) throw new JoinError("Realtime was unable to connect to the project database");
    if (this.options.presence) throw new JoinError(notHere("presence"));
    const { bindings } = this.options;
    if (bindings.length > limits.bindingsPerChannel) throw new JoinError("Too many postgres_changes on one channel");
    await this.identify(tokenOf(payload));
    if (this.ended) return;
    this.joined = true;
    topics.set(this.key, (topics.get(this.key) ?? new Set()).add(this));
    const checked = await this.subscribe();
    if (this.ended) return;
    const echoed = bindings.map((requested, index) => ({ ...requested, id: index + 1 }));
    this.connection.reply(this.reference, "ok", { postgres_changes: echoed });
    if (checked !== null) this.system("postgres_changes", checked.status, checked.message);
  }

  /** The identity of the token, which may read the topic; without a token that of the API key. */
  private async identify(token: string | null): Promise<void> {
    if (token !== null) this.identity = await identityOfToken(this.core.keys, token);
    this.token = token;
    this.keep();
    await this.authorize();
    if (!this.ended) this.watchToken();
  }

  private async authorize(): Promise<void> {
    const mayRead = () => this.core.mayRead(this.identity, this.name);
    if (this.options.isPrivate && !(await this.connection.query(mayRead)))
      throw new JoinError(`You do not have permissions to read from this Channel topic: ${this.name}`);
  }

  /** Validates all bindings for the current identity and replaces the previous ones without a gap. */
  private async subscribe(): Promise<{ status: "ok" | "error"; message: string } | null> {
    if (this.options.bindings.length === 0) return null;
    const { identity } = this;
    const outcome = await this.check(identity).catch((error: unknown) => {
      if (error instanceof FilterError) return error;
      throw error;
    });
    this.unsubscribe();
    if (this.ended) return null;
    if (outcome instanceof FilterError) return { status: "error", message: outcome.message };
    this.subscriptions = outcome.map((binding) => ({ ...binding, owner: this, identity }));
    for (const subscription of this.subscriptions) this.core.subscriptions.add(subscription);
    return { status: "ok", message: "Subscribed to PostgreSQL" };
  }

  private async check(identity: Identity): Promise<Binding[]> {
    const bindings = readBindings(await this.core.catalog.tables(), identity, this.options.bindings);
    // Before Postgres has work with them.
    this.keep(bindings);
    return this.connection.query(() => acceptBindings(this.core.joinSql, bindings));
  }

  private unsubscribe(): void {
    for (const subscription of this.subscriptions) this.core.subscriptions.remove(subscription);
    this.subscriptions = [];
  }

  /** Counts what the channel keeps now. */
  private keep(bindings: Binding[] = this.subscriptions): void {
    if (this.ended) return;
    const { topic, token, options } = this;
    // Of a token also the claims are kept, twice.
    const texts = topic.length + 3 * (token?.length ?? 0) + JSON.stringify(options).length;
    const bytes = bindings.reduce((sum, each) => sum + bytesOf(each), bytesOfChannel + texts);
    if (!this.connection.budget.take(bytes - this.keptBytes))
      throw new JoinError("This client or its address has too many channels and filters");
    this.keptBytes = bytes;
  }

  async receive(message: Message): Promise<void> {
    switch (message.event) {
      case "phx_leave":
        this.connection.reply(message, "ok");
        return this.end("phx_close");
      case "access_token":
        return this.renew(tokenOf(message.payload));
      case "broadcast":
        return this.connection.reply(message, "error", { reason: notHere("broadcasts from clients") });
      case "presence":
        return this.connection.reply(message, "error", { reason: notHere("presence") });
    }
  }

  /** A new token: usually of the same user; no change is missed. */
  private async renew(token: string | null): Promise<void> {
    if (token === null || token === this.token) return;
    try {
      await this.identify(token);
      if (this.ended) return;
      const checked = await this.subscribe();
      if (checked !== null && !this.ended) this.system("postgres_changes", checked.status, checked.message);
    } catch (error) {
      if (!this.ended) this.shutDown(reasonOf(error));
    }
  }

  /** Re-checks when tokens expire or access may have changed. */
  private watchToken(): void {
    clearTimeout(this.expiry);
    const left = (this.identity.expiresAt ?? Number.POSITIVE_INFINITY) * 1000 - Date.now();
    this.expiry = setTimeout(() => this.recheck(), Math.max(0, Math.min(left, this.core.limits.trust)));
    this.expiry.unref();
  }

  private async recheck(): Promise<void> {
    try {
      if (this.token !== null) await identityOfToken(this.core.keys, this.token);
      await this.authorize();
      if (this.joined) this.watchToken();
    } catch (error) {
      if (this.joined) this.shutDown(reasonOf(error));
    }
  }

  /** Returns the number of bytes. */
  send(frame: Frame): number {
    return this.connection.send(frame, this.topic);
  }

  /** Closes the channel with a reason for the client. */
  private shutDown(reason: string): void {
    this.system("system", "error", reason);
    this.end("phx_close");
  }

  /** After phx_error the client rejoins and notifies its application. */
  end(event: "phx_close" | "phx_error"): void {
    this.leave();
    this.push(event, "{}", true);
  }

  leave(): void {
    clearTimeout(this.expiry);
    const { topics } = this.core;
    const members = topics.get(this.key);
    if (members?.delete(this) && members.size === 0) topics.delete(this.key);
    this.joined = false;
    this.ended = true;
    this.unsubscribe();
    this.connection.budget.take(-this.keptBytes);
    this.keptBytes = 0;
    if (this.connection.channels.get(this.topic) === this) this.connection.channels.delete(this.topic);
  }

  private system(extension: "system" | "postgres_changes", status: "ok" | "error", message: string): void {
    this.push("system", JSON.stringify({ extension, status, message, channel: this.name }));
  }

  private push(event: string, payload: string, closing = false): void {
    const { joinRef } = this.reference;
    this.connection.push(this.topic, event, payload, joinRef, closing ? joinRef : null);
  }
}

interface Options {
  isPrivate: boolean;
  presence: boolean;
  bindings: Requested[];
}

function readOptions(payload: unknown): Options {
  const config = part(payload, "config");
  const changes = config.postgres_changes;
  return {
    isPrivate: config.private === true,
    presence: part(config, "presence").enabled === true,
    bindings: Array.isArray(changes) ? changes.filter((one) => one !== null).map(readRequested) : [],
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

function reasonOf(error: unknown): string {
  if (error instanceof JoinError || error instanceof TokenError) return error.message;
  return "Realtime was unable to connect to the project database";
}

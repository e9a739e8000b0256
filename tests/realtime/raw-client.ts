import { once } from "node:events";
import { WebSocket } from "ws";
import type { OwnStack } from "../own-stack.ts";
import { until } from "../until.ts";

export interface Reply {
  status: string;
  response: { reason?: string };
}

const opened = new Set<RawClient>();

/** For afterEach. */
export function closeRawClients(): void {
  for (const client of opened) client.socket.terminate();
  opened.clear();
}

/** A client of realtime that can send any message. */
export class RawClient {
  readonly messages: string[] = [];
  private constructor(readonly socket: WebSocket) {
    socket.on("message", (data) => this.messages.push(String(data)));
    socket.on("error", () => undefined);
    opened.add(this);
  }

  static async open(own: OwnStack, localAddress = "127.0.6.1", version = "2.0.0"): Promise<RawClient> {
    const url = `${own.supabase_url.replace("http", "ws")}/realtime/v1/websocket?apikey=${own.publishable_key}&vsn=${version}`;
    const client = new RawClient(new WebSocket(url, { localAddress }));
    await once(client.socket, "open");
    return client;
  }

  isOpen = () => this.socket.readyState === WebSocket.OPEN;

  send(topic: string, event: string, payload: string): string {
    const ref = String(Math.random());
    this.socket.send(`["${ref}","${ref}","realtime:${topic}","${event}",${payload}]`);
    return ref;
  }

  async ask(topic: string, event: string, payload: string): Promise<Reply> {
    const ref = this.send(topic, event, payload);
    const found = await until(() =>
      this.messages.find((message) => message.includes("phx_reply") && message.includes(ref)),
    );
    return JSON.parse(found)[4];
  }

  join = (topic: string, config: object = {}, more: object = {}) =>
    this.ask(topic, "phx_join", JSON.stringify({ config, ...more }));

  /** Waits until the server knows the table, which can be new. */
  async subscribe(topic: string, config: object, more: object = {}): Promise<void> {
    await until(async () => {
      await this.join(topic, config, more);
      const found = await until(() => this.messages.find((message) => message.includes('"system"')));
      this.messages.length = 0;
      return found.includes("Subscribed");
    });
  }

  hears = (text: string) => until(() => this.messages.some((message) => message.includes(text)));
}

export const changes = (table: string, filter?: string, more: object = {}) => ({
  postgres_changes: [{ event: "*", schema: "public", table, ...(filter && { filter }), ...more }],
});

import { connect, createServer, type Socket } from "node:net";
import { listen } from "../../local/processes/ports.ts";

export type Pooler = {
  port: number;
  /** The number of transactions, and of those that used a different server connection than the client's last one. */
  handed(): { transactions: number; toAnother: number };
  /** Server connections that a client currently uses. */
  held(): number;
  close(): void;
};

type Message = { type: string; bytes: Buffer };
type Server = {
  socket: Socket;
  client?: Client | undefined;
  /** Names that this server connection has prepared. */
  prepared: Set<string>;
  /** For each pending Parse, the receiver of its response. */
  parsing: { name: string; isOurs: boolean }[];
};
type Client = {
  socket: Socket;
  server?: Server | undefined;
  last?: Server | undefined;
  /** Messages of the client that no server connection has received yet. */
  queue: Message[];
  /** A Sync was sent: the following messages may go to another server connection. */
  isAwaitingReady: boolean;
  /** Its prepared statements if they are tracked: name to Parse message. */
  statements: Map<string, Buffer>;
};

/**
 * Sends each transaction to another server connection, as poolers in transaction mode may. With tracking of prepared
 * statements it prepares missing ones, like PgBouncer 1.21 and newer; without it, Postgres returns 26000.
 */
export async function startPooler(
  postgresPort: number,
  { size, tracksStatements }: { size: number; tracksStatements: boolean },
): Promise<Pooler> {
  const idle: Server[] = [];
  const waiting: Client[] = [];
  const servers = new Set<Server>();
  const sockets = new Set<Socket>();
  let transactions = 0;
  let toAnother = 0;

  const listener = createServer((socket) => {
    track(socket);
    const client: Client = { socket, queue: [], isAwaitingReady: false, statements: new Map() };
    logIn(client);
  });

  /** The client's own login is forwarded to Postgres; the connection is shared by all clients afterwards. */
  function logIn(client: Client) {
    const socket = connect(postgresPort, "127.0.0.1");
    track(socket);
    const server: Server = { socket, prepared: new Set(), parsing: [] };
    const fromClient = splitter({ startsUp: true });
    const fromServer = splitter();
    let isIn = false;
    client.socket.on("data", (chunk) => {
      for (const message of fromClient(chunk)) {
        if (isIn) receive(client, message);
        else socket.write(message.bytes);
      }
    });
    client.socket.on("close", () => {
      if (!isIn || client.server) (client.server?.socket ?? socket).destroy();
      else if (waiting.includes(client)) waiting.splice(waiting.indexOf(client), 1);
    });
    socket.on("data", (chunk) => {
      for (const message of fromServer(chunk)) {
        if (isIn) answer(server, message);
        else {
          client.socket.write(message.bytes);
          if (message.type !== "Z") continue;
          isIn = true;
          admit(server);
        }
      }
    });
    socket.on("close", () => {
      servers.delete(server);
      if (idle.includes(server)) idle.splice(idle.indexOf(server), 1);
      (isIn ? server.client?.socket : client.socket)?.destroy();
    });
  }

  function admit(server: Server) {
    if (servers.size >= size) {
      server.socket.end(Buffer.from([0x58, 0, 0, 0, 4]));
      return;
    }
    servers.add(server);
    release(server);
  }

  function release(server: Server) {
    server.client = undefined;
    idle.push(server);
    serveNext();
  }

  function serveNext() {
    while (waiting[0] && idle[0]) {
      const client = waiting.shift() as Client;
      const other = idle.findIndex((server) => server !== client.last);
      const [server] = idle.splice(Math.max(0, other), 1) as [Server];
      transactions++;
      if (client.last && client.last !== server) toAnother++;
      client.server = server;
      client.last = server;
      server.client = client;
      forward(client);
    }
  }

  function receive(client: Client, message: Message) {
    if (message.type === "X") {
      client.socket.end();
      return;
    }
    client.queue.push(message);
    if (client.server) forward(client);
    else if (!waiting.includes(client)) {
      waiting.push(client);
      serveNext();
    }
  }

  /** Up to the next Sync: after it the transaction may be over. */
  function forward(client: Client) {
    const { server } = client;
    while (server && !client.isAwaitingReady) {
      const message = client.queue.shift();
      if (!message) return;
      if (tracksStatements) prepare(client, server, message);
      else if (message.type === "P") server.parsing.push({ name: "", isOurs: false });
      server.socket.write(message.bytes);
      client.isAwaitingReady = message.type === "S" || message.type === "Q";
    }
  }

  function prepare(client: Client, server: Server, { type, bytes }: Message) {
    if (type === "P") {
      const name = textAt(bytes, 5);
      if (name) client.statements.set(name, bytes);
      server.parsing.push({ name, isOurs: false });
      return;
    }
    const name =
      type === "B"
        ? textAt(bytes, 5 + textAt(bytes, 5).length + 1)
        : type === "D" && bytes[5] === "S".charCodeAt(0)
          ? textAt(bytes, 6)
          : "";
    const parse = client.statements.get(name);
    if (!parse || server.prepared.has(name) || server.parsing.some((one) => one.name === name)) return;
    server.parsing.push({ name, isOurs: true });
    server.socket.write(parse);
  }

  function answer(server: Server, { type, bytes }: Message) {
    const { client } = server;
    if (type === "1") {
      const parsed = server.parsing.shift();
      if (parsed?.name) server.prepared.add(parsed.name);
      if (parsed?.isOurs) return;
    }
    client?.socket.write(bytes);
    if (type !== "Z" || !client) return;
    server.parsing = [];
    client.isAwaitingReady = false;
    if (bytes[5] !== "I".charCodeAt(0)) {
      forward(client);
      return;
    }
    client.server = undefined;
    if (client.queue.length > 0) waiting.push(client);
    release(server);
  }

  function track(socket: Socket) {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  }

  await listen(listener, 0, "PORT");
  const { port } = listener.address() as { port: number };
  return {
    port,
    handed: () => ({ transactions, toAnother }),
    held: () => [...servers].filter(({ client }) => client).length,
    close() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Complete messages from a byte stream. The first message of a client has no type. */
function splitter({ startsUp = false } = {}): (chunk: Buffer) => Message[] {
  let rest: Buffer = Buffer.alloc(0);
  let isFirst = startsUp;
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (rest.length < head + 4) return messages;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return messages;
      const type = isFirst ? "startup" : String.fromCharCode(rest[0] as number);
      messages.push({ type, bytes: rest.subarray(0, length) });
      rest = rest.subarray(length);
      isFirst = false;
    }
  };
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.toString("utf8", start, bytes.indexOf(0, start));
}

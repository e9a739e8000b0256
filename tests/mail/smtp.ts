import type { AddressInfo } from "node:net";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

/** A mail that arrived; repeated arrivals are separate entries. */
interface Arrived extends Email {
  recipient: string;
  raw: string;
  /** Whether it came over TLS. */
  isSecure: boolean;
}

/** The server's reply to a recipient: it accepts the mail, never replies, closes the connection, or returns an error. */
type Behaviour = (
  address: string,
  stage: "rcpt" | "data",
) => "take" | "hang" | "cut off" | { code: number; text?: string };

export interface MailServer {
  /** The MAIL_URL of this server. */
  url: string;
  arrived: Arrived[];
  behave: Behaviour;
  /** Numbers of connections and of RCPT commands. */
  counts: { connections: number; recipients: number };
  to(address: string): Arrived[];
  stop(): Promise<void>;
}

type Connection = { id: string; _socket: { destroy(): void } };

/** A real SMTP server on this machine. */
export async function startMailServer(
  options: SMTPServerOptions = {},
  port = 0,
  address = "127.0.0.1",
): Promise<MailServer> {
  const refused = ({ code, text = "refused by the test" }: { code: number; text?: string }) =>
    Object.assign(new Error(text), { responseCode: code });
  const mails: MailServer = {
    url: "",
    arrived: [],
    behave: () => "take",
    counts: { connections: 0, recipients: 0 },
    to: (address) => mails.arrived.filter(({ recipient }) => recipient === address),
    async stop() {
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: options.secure || options.key ? [] : ["STARTTLS"],
    closeTimeout: 10,
    ...options,
    onConnect(_session, callback) {
      mails.counts.connections++;
      callback();
    },
    onRcptTo({ address }, session, callback) {
      mails.counts.recipients++;
      const answer = mails.behave(address, "rcpt");
      if (answer === "take") callback();
      else if (typeof answer === "object") callback(refused(answer));
      else if (answer === "cut off") cutOff(session.id);
    },
    onData(stream, session, callback) {
      const recipient = session.envelope.rcptTo[0]?.address ?? "";
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        const answer = mails.behave(recipient, "data");
        if (typeof answer === "object") return callback(refused(answer));
        if (answer === "hang") return;
        const raw = Buffer.concat(chunks).toString();
        mails.arrived.push({ ...(await PostalMime.parse(raw)), recipient, raw, isSecure: session.secure });
        if (answer === "cut off") cutOff(session.id);
        else callback();
      });
    },
  });
  /** Closes only this connection: other mails may be on their way over the others. */
  const cutOff = (session: string) => {
    const { connections } = server as unknown as { connections: Set<Connection> };
    for (const { id, _socket } of connections) if (id === session) _socket.destroy();
  };
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  mails.url = `${options.secure ? "smtps" : "smtp"}://${address}:${(server.server.address() as AddressInfo).port}`;
  return mails;
}

export const headerOf = ({ headers }: Email, name: string) =>
  headers.find(({ key }) => key === name.toLowerCase())?.value;

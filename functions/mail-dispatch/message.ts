/** A mail, for a transport. */
export type Message = {
  /** Identifies the mail; the same at each attempt. */
  id: string;
  from: { name: string; address: string };
  to: string;
  subject: string;
  html: string;
  text: string;
  messageId: string;
  /** Message-ID of the first mail of the thread. */
  references: string | undefined;
  headers: Record<string, string>;
  date: Date;
};

export type Transport = {
  send(message: Message): Promise<import("./database.ts").Outcome>;
  /** Nothing is left to send. */
  close(): void;
};

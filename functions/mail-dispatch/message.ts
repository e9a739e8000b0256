/** A mail as a transport takes it. */
export type Message = {
  /** The same at each attempt. */
  id: string;
  from: { name: string; address: string };
  to: string;
  subject: string;
  html: string;
  text: string;
  messageId: string;
  /** Message id of the first mail in the thread. */
  references: string | undefined;
  headers: Record<string, string>;
  date: Date;
};

export type Transport = {
  send(message: Message): Promise<import("./database.ts").Outcome>;
  /** Nothing is left to send. */
  close(): void;
};

/** Limits of one client. */
export interface Limits {
  sockets: number;
  /** For one address. */
  socketsPerAddress: number;
  channelsPerSocket: number;
  bindingsPerChannel: number;
  topicLength: number;
  /** Bytes of one message from a client. */
  messageSize: number;
  /** Messages a second from a client, on average; bursts may be ten times that. */
  messagesPerSecond: number;
  /** Bytes queued for a client that does not read; above it is disconnected. */
  unreadBytes: number;
  /** Milliseconds without a message (clients send heartbeats every 25 s). */
  silence: number;
}

export const defaultLimits: Limits = {
  sockets: 20_000,
  socketsPerAddress: 1_000,
  channelsPerSocket: 100,
  bindingsPerChannel: 50,
  topicLength: 255,
  messageSize: 256 * 1024,
  messagesPerSecond: 100,
  unreadBytes: 2 * 1024 * 1024,
  silence: 75_000,
};

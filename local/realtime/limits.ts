/** What one client may ask of the server. */
export interface Limits {
  sockets: number;
  /** Of one address of the network. */
  socketsPerAddress: number;
  channelsPerSocket: number;
  bindingsPerChannel: number;
  topicLength: number;
  /** Bytes of one message from a client. */
  messageSize: number;
  /** Messages a second from a client, on average; a burst may be ten times that. */
  messagesPerSecond: number;
  /** Bytes that wait for a client who does not read; one more and it is cut off. */
  unreadBytes: number;
  /** Milliseconds without a word (clients say hello every 25 s). */
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

/** Limits of one client. */
export interface Limits {
  sockets: number;
  /** For one address. */
  socketsPerAddress: number;
  channelsPerSocket: number;
  bindingsPerChannel: number;
  topicLength: number;
  /** Bytes of one message from a client, of which larger ones get an error. */
  messageSize: number;
  /** Bytes of a message that closes the socket: as many as the server may hold of an unfinished one. */
  frameSize: number;
  /** Messages a second from a client, on average; bursts may be ten times that. */
  messagesPerSecond: number;
  /** Bytes kept for a socket: channels, filters, messages that wait, and data that it has not read. */
  keptBytes: number;
  /** For all sockets of an address, each on average. */
  keptBytesPerAddress: number;
  /** For all sockets. */
  keptBytesInAll: number;
  /** Milliseconds without a message (clients send heartbeats every 25 s). */
  silence: number;
  /** Milliseconds after which a channel's token and its access to the topic are checked again, as hosted. */
  trust: number;
}

export const defaultLimits: Limits = {
  sockets: 20_000,
  socketsPerAddress: 1_000,
  channelsPerSocket: 100,
  bindingsPerChannel: 50,
  topicLength: 255,
  messageSize: 16 * 1024,
  frameSize: 48 * 1024,
  messagesPerSecond: 100,
  keptBytes: 2 * 1024 * 1024,
  keptBytesPerAddress: 32 * 1024,
  keptBytesInAll: 256 * 1024 * 1024,
  silence: 75_000,
  trust: 5 * 60_000,
};

/** Counts the bytes that the server keeps for a socket, also in the budgets of its address and of all. */
export class Budget {
  private kept = 0;
  private ended = false;
  constructor(
    private readonly limit: number,
    private readonly parent: Budget | null,
    private readonly onRefusal: () => void,
  ) {}

  /** Counts more bytes, or fewer if negative; false if they are too many. */
  take(bytes: number): boolean {
    if (this.ended) return false;
    if (bytes > 0 && this.kept + bytes > this.limit) {
      this.onRefusal();
      return false;
    }
    if (this.parent?.take(bytes) === false) return false;
    this.kept += bytes;
    return true;
  }

  end(): void {
    this.take(-this.kept);
    this.ended = true;
  }
}

/** Allows a number of messages a second on average, and ten times that at once. Each KiB of a message counts as one. */
export class Rate {
  private left: number;
  private countedAt = performance.now();
  constructor(private readonly perSecond: number) {
    this.left = perSecond * 10;
  }

  allows(now: number, bytes: number): boolean {
    const earned = ((now - this.countedAt) / 1000) * this.perSecond;
    this.left = Math.min(this.perSecond * 10, this.left + earned) - Math.max(1, bytes / 1024);
    this.countedAt = now;
    return this.left >= 0;
  }
}

/** The sockets of one client address. */
export interface Address {
  name: string;
  sockets: number;
  budget: Budget;
  rate: Rate;
  /** Ends with the queries of its joins so far, of which one runs at a time. */
  lastQuery: Promise<unknown>;
}

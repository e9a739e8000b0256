import { encode, type Version } from "./protocol.ts";

/** One message for many. Consecutive receivers on the same topic share its bytes. */
export class Frame {
  private readonly last = new Map<Version, { topic: string; data: Buffer }>();
  constructor(
    private readonly event: string,
    private readonly payload: string,
  ) {}

  bytes(version: Version, topic: string): Buffer {
    const last = this.last.get(version);
    if (last?.topic === topic) return last.data;
    const data = Buffer.from(encode(version, topic, this.event, this.payload));
    this.last.set(version, { topic, data });
    return data;
  }
}

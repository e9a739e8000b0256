import { encode, encodeBytes, type Version } from "./protocol.ts";

/** One message for many: serialized once for each serializer and topic. */
export class Frame {
  private readonly texts = new Map<string, Buffer>();
  // Usually all receivers share serializer and topic.
  private last: { version: Version; topic: string; data: Buffer } | undefined;
  constructor(
    private readonly event: string,
    private readonly payload: string,
  ) {}

  bytes(version: Version, topic: string): { data: Buffer; binary: boolean } | null {
    if (this.last?.version === version && this.last.topic === topic)
      return { data: this.last.data, binary: false };
    const key = `${version} ${topic}`;
    const data = this.texts.get(key) ?? Buffer.from(encode(version, topic, this.event, this.payload));
    this.texts.set(key, data);
    this.last = { version, topic, data };
    return { data, binary: false };
  }
}

/** A broadcast with a binary payload, which 1.0.0 clients cannot receive. */
export class BytesFrame extends Frame {
  constructor(
    private readonly userEvent: string,
    private readonly content: Buffer,
  ) {
    super("broadcast", "{}");
  }

  override bytes(version: Version, topic: string): { data: Buffer; binary: boolean } | null {
    if (version === "1.0.0") return null;
    const data = encodeBytes(topic, this.userEvent, this.content);
    return data && { data, binary: true };
  }
}

/** `payload` is JSON text; `id` is that of a message sent from the database. */
export function broadcastFrame(event: string, payload: string, id?: string): Frame {
  const meta = id === undefined ? "" : `,"meta":{"id":${JSON.stringify(id)}}`;
  return new Frame(
    "broadcast",
    `{"type":"broadcast","event":${JSON.stringify(event)},"payload":${payload}${meta}}`,
  );
}

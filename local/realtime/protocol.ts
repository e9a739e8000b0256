/** The two Phoenix serializers of supabase-js. */
export type Version = "1.0.0" | "2.0.0";

export interface Message {
  joinRef: string | null;
  ref: string | null;
  topic: string;
  event: string;
  payload: unknown;
}

const userBroadcastPush = 3;
const userBroadcast = 4;

export function decodeText(version: Version, text: string): Message | null {
  const value = parseJson(text);
  if (version === "2.0.0") {
    if (!Array.isArray(value)) return null;
    const [joinRef, ref, topic, event, payload] = value as unknown[];
    return message(joinRef, ref, topic, event, payload);
  }
  if (!isObject(value)) return null;
  return message(value.join_ref, value.ref, value.topic, value.event, value.payload);
}

/** A broadcast of a 2.0.0 client: sizes, strings, then the payload as JSON or bytes. */
export function decodeBinary(frame: Buffer): Message | null {
  if (frame.length < 7 || frame[0] !== userBroadcastPush) return null;
  let at = 7;
  const next = (size = 0) => {
    at += size;
    return frame.toString("utf8", at - size, at);
  };
  const joinRef = next(frame[1]);
  const ref = next(frame[2]);
  const topic = next(frame[3]);
  const event = next(frame[4]);
  next(frame[5]);
  if (at > frame.length) return null;
  const bytes = frame.subarray(at);
  const payload = frame[6] === 1 ? parseJson(bytes.toString("utf8")) : bytes;
  if (payload === undefined) return null;
  return message(joinRef || null, ref || null, topic, "broadcast", { type: "broadcast", event, payload });
}

/** `payload` is JSON text already, so that it is serialized once for thousands of receivers. */
export function encode(
  version: Version,
  topic: string,
  event: string,
  payload: string,
  joinRef: string | null = null,
  ref: string | null = null,
): string {
  const parts = [joinRef, ref, topic, event].map((part) => JSON.stringify(part));
  if (version === "2.0.0") return `[${parts.join(",")},${payload}]`;
  return `{"topic":${parts[2]},"event":${parts[3]},"payload":${payload},"ref":${parts[1]},"join_ref":${parts[0]}}`;
}

/** The binary frame for binary payloads; 1.0.0 cannot express it. */
export function encodeBytes(topic: string, event: string, payload: Buffer): Buffer | null {
  const names = [Buffer.from(topic), Buffer.from(event)];
  if (names.some((name) => name.length > 255)) return null;
  const head = Buffer.from([userBroadcast, names[0]?.length ?? 0, names[1]?.length ?? 0, 0, 0]);
  return Buffer.concat([head, ...names, payload]);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function message(
  joinRef: unknown,
  ref: unknown,
  topic: unknown,
  event: unknown,
  payload: unknown,
): Message | null {
  if (typeof topic !== "string" || typeof event !== "string") return null;
  return { joinRef: reference(joinRef), ref: reference(ref), topic, event, payload };
}

const reference = (value: unknown) =>
  typeof value === "string" && value.length <= 255 ? value : typeof value === "number" ? String(value) : null;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

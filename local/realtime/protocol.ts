/** The two Phoenix serializers of supabase-js. */
export type Version = "1.0.0" | "2.0.0";

/** What a reply repeats of a message. */
export interface Reference {
  topic: string;
  joinRef: string | null;
  ref: string | null;
}

export interface Message extends Reference {
  event: string;
  payload: unknown;
}

/** What clients read when they use a part of hosted Realtime that is not in the embedded stack. */
export const notHere = (what: string) => `The embedded stack does not support ${what}; hosted Supabase does.`;

const userBroadcastPush = 3;

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

/** A broadcast of a 2.0.0 client: sizes, then strings. The payload is not read, because broadcasts are refused. */
export function decodeBinary(frame: Buffer): Message | null {
  if (frame.length < 7 || frame[0] !== userBroadcastPush) return null;
  let at = 7;
  const next = (size = 0) => {
    at += size;
    return frame.toString("utf8", at - size, at);
  };
  return message(next(frame[1]), next(frame[2]), next(frame[3]), "broadcast", null);
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

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function message(joinRef: unknown, ref: unknown, topic: unknown, event: unknown, payload: unknown): Message | null {
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

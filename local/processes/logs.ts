import { Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { fieldsOf } from "./program.ts";

/** A part of the stack, as log lines and metrics name it. */
export type Component =
  | "launcher"
  | "postgres"
  | "auth"
  | "data-api"
  | "realtime"
  | "api"
  | "web"
  | "webhook-dispatch"
  | "mail-dispatch";

export type Level = "info" | "warning" | "error" | "fatal";

/** Characters of an entry; the rest is cut. */
const maxChars = 16_000;
/** Bytes that wait for a slow reader; further lines are dropped and counted. */
const maxWaitingBytes = 4 * 1024 * 1024;
/** Lines that come together, such as a stack trace, are one entry. */
const togetherMs = 100;
// JSON, a line of Postgres, or one of PostgREST; any other line continues the entry before it.
const beginning = /^(?:\{|\d{4}-\d\d-\d\d \d\d:|\d\d\/\w{3}\/\d{4}:)/;
const postgrestTime = /^\d\d\/\w{3}\/[\d:]+ \+0000: /;
const postgresLine = /^(\S+) (\S+) UTC \[\d+\] (\w{5}) (\w+): +(.*)/s;
// Classes of what a statement was refused for: our own functions raise them for a request that is answered with 4xx.
const refusal = /^(?:22|23|P0|PT|FB)/;

let dropped = 0;
// A reader that is gone must not end the service.
process.stdout.on("error", () => undefined);

/** Writes a line of JSON to standard output. Never waits for its reader. */
export function writeLine(
  component: Component,
  level: Level,
  message: string,
  fields: object = {},
  time = now(),
): void {
  if (process.stdout.writableLength > maxWaitingBytes) {
    dropped++;
    return;
  }
  const head = { time, level, component, message };
  const line = JSON.stringify({ ...head, ...fields, ...(dropped > 0 && { dropped_lines: dropped }), ...head });
  dropped = 0;
  // C1 controls and line separators, which JSON does not escape.
  const escaped = line.replace(/[\u007f-\u009f\u2028\u2029]/g, (char) => `\\u${hex(char)}`);
  process.stdout.write(`${escaped}\n`);
}

const now = () => new Date().toISOString();
const hex = (char: string) => char.charCodeAt(0).toString(16).padStart(4, "0");

/** Waits until lines are written, but not for a reader that has stopped. */
export async function flushLines(): Promise<void> {
  const written = new Promise<void>((resolve) => process.stdout.write("", () => resolve()));
  await Promise.race([written, sleep(1_000)]);
}

/** The output of a part, which becomes lines of JSON on standard output. */
export function jsonLines(component: Component): Writable {
  const decoder = new StringDecoder();
  let line = "";
  let entry = "";
  let timer: NodeJS.Timeout | undefined;
  const endEntry = () => {
    clearTimeout(timer);
    timer = undefined;
    if (entry.trim()) writeEntry(component, entry);
    entry = "";
  };
  const endLine = () => {
    if (beginning.test(line)) endEntry();
    entry = cut(entry ? `${entry}\n${line}` : line);
    if (line.startsWith("{")) endEntry();
    else timer ??= setTimeout(endEntry, togetherMs);
    line = "";
  };
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const [index, part] of decoder.write(chunk).split("\n").entries()) {
        if (index > 0) endLine();
        line = cut(line + part);
      }
      done();
    },
    final(done) {
      if (line) endLine();
      endEntry();
      done();
    },
  });
}

const cut = (text: string) => (text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text);

function writeEntry(component: Component, entry: string): void {
  const fields = fieldsOf(entry);
  const [, day, time, state = "", severity, message] = postgresLine.exec(entry) ?? [];
  if (fields && entry.startsWith("{")) writeFields(component, fields);
  else if (severity && message) {
    const level = refusal.test(state) ? "info" : levelOf(severity);
    writeLine(component, level, message.trim(), {}, `${day}T${time}Z`);
  } else {
    const level = /^error|\b(?:\w*Error|FATAL):/.test(entry) ? "error" : "info";
    writeLine(component, level, entry.replace(postgrestTime, "").trim());
  }
}

/** A line of the functions or of Supabase Auth. */
function writeFields(component: Component, { at, time, level, msg, warning, ...rest }: Record<string, unknown>): void {
  const { method, route, path, status, error } = rest;
  const request = [method, route ?? path, status].filter((part) => part !== undefined).join(" ");
  const problem = typeof error === "object" && error !== null && "message" in error ? error.message : error;
  const message = String(msg ?? warning ?? problem ?? (request || "dropped lines"));
  const known = level ? levelOf(String(level)) : warning ? "warning" : error ? "error" : "info";
  writeLine(component, known, message, rest, String(at ?? time ?? now()));
}

function levelOf(name: string): Level {
  if (/^warn/i.test(name)) return "warning";
  if (/^panic$/i.test(name)) return "fatal";
  return /^(?:error|fatal)$/i.test(name) ? "error" : "info";
}

const repeatMs = 60_000;

/** Passes a message that repeats itself on once a minute, with the number of times. */
export function onceAMinute(print: (message: string, component: Component) => void): typeof print {
  const repeats = new Map<string, number>();
  return (message, component) => {
    const key = `${component} ${message}`;
    const count = repeats.get(key);
    repeats.set(key, count === undefined ? 0 : count + 1);
    if (count !== undefined) return;
    print(message, component);
    const timer = setInterval(() => {
      const more = repeats.get(key);
      repeats.set(key, 0);
      if (more) return print(`${message} (${more} more times in the last minute)`, component);
      repeats.delete(key);
      clearInterval(timer);
    }, repeatMs).unref();
  };
}

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLogWriter, hostedLimit } from "../../functions/_shared/runtime/log-writer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function newLog(limit = hostedLimit) {
  const events: { at: number; text: string; isError: boolean }[] = [];
  const record = (isError: boolean) => (text: string) => events.push({ at: Date.now(), text, isError });
  const log = createLogWriter(limit, { line: record(false), error: record(true) });
  const lines = (isError: boolean) =>
    events.filter((event) => event.isError === isError).flatMap(({ text }) => text.split("\n"));
  return { ...log, events, lines };
}
const line = (n: number) => JSON.stringify({ n, filler: "x".repeat(200) });

test.each([1, 50, 1000])(
  "%d requests a second are at most 100 events in any 10 seconds, each within the length limit; dropped lines are counted",
  (perSecond) => {
    const log = newLog();
    for (let n = 0; n < perSecond * 40; n++) {
      log.request(line(n));
      vi.advanceTimersByTime(1000 / perSecond);
    }
    vi.advanceTimersByTime(60_000);
    for (const { at } of log.events) {
      const within = log.events.filter((other) => other.at >= at && other.at < at + 10_000);
      expect(within.length).toBeLessThanOrEqual(100);
    }
    expect(Math.max(...log.events.map(({ text }) => text.length))).toBeLessThanOrEqual(10_000);
    const read = log.lines(false).map((text) => JSON.parse(text) as { n?: number; dropped_lines?: number });
    const dropped = read.reduce((sum, { dropped_lines = 0 }) => sum + dropped_lines, 0);
    const numbers = read.flatMap(({ n }) => n ?? []);
    expect(numbers.length + dropped).toBe(perSecond * 40);
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(dropped > 0).toBe(perSecond === 1000);
  },
);

test("a request is written within a second", () => {
  const log = newLog();
  log.request(line(1));
  vi.advanceTimersByTime(1000);
  expect(log.events).toHaveLength(1);
});

test("errors are written immediately during a flood of requests, and wait for capacity instead of being dropped", () => {
  const log = newLog();
  for (let n = 0; n < 20_000; n++) {
    log.request(line(n));
    vi.advanceTimersByTime(1);
  }
  log.error(line(-1));
  expect(log.events.at(-1)).toEqual({ at: Date.now(), text: line(-1), isError: true });
  for (let n = 0; n < 500; n++) log.error(line(n));
  vi.advanceTimersByTime(60_000);
  expect(log.lines(true)).toEqual([-1, ...Array.from({ length: 500 }, (_, n) => n)].map(line));
});

test("buffered lines are written at process exit", () => {
  const log = newLog();
  for (let n = 0; n < 300; n++) log.error(line(n));
  log.request(line(1000));
  log.flush();
  expect(log.lines(true)).toHaveLength(300);
  expect(log.lines(false)).toEqual([line(1000)]);
});

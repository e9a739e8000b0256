import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { importFunction } from "../import-function.ts";

// How long a form with a file may take, with a clock that the test sets.

type Module = typeof import("../../functions/_shared/http/multipart.ts");
let readUpload: Module["readUpload"];
let discard: Module["discard"];

beforeAll(async () => {
  ({ readUpload, discard } = await importFunction<Module>(
    new URL("../../functions/_shared/http/multipart.ts", import.meta.url),
  ));
});
afterEach(() => {
  vi.useRealTimers();
});

const bounds = { maxBytes: 1024, tooLarge: "too large", timeout: "idle" } as const;
const field = (name: string) => `--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nvalue of ${name}\r\n`;
const fileHead = '--edge\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n';

/** A form whose parts arrive `seconds` apart. */
function slowForm(parts: string[], seconds: number): Request {
  vi.useFakeTimers({ toFake: ["performance"] });
  const rest = [...parts];
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = rest.shift();
        if (part === undefined) return controller.close();
        vi.advanceTimersByTime(seconds * 1000);
        controller.enqueue(new TextEncoder().encode(part));
      },
    },
    { highWaterMark: 0 },
  );
  return new Request("http://form.example", {
    method: "POST",
    headers: { "Content-Type": "multipart/form-data; boundary=edge" },
    body,
    duplex: "half",
  } as RequestInit);
}

test("fields that take longer than 30 seconds in all are refused, however steadily they arrive", async () => {
  const parts = ["a", "b", "c", "d", "e"].map(field);
  await expect(readUpload(slowForm([...parts, "--edge--"], 7), bounds)).rejects.toMatchObject({
    code: "VALIDATION_ERROR",
    details: [{ field: "body", message: expect.stringContaining("30 seconds") }],
  });
  const { fields } = await readUpload(slowForm([...parts, "--edge--"], 4), bounds);
  expect([...fields.keys()]).toEqual(["a", "b", "c", "d", "e"]);
});

test("the file behind the fields may take longer", async () => {
  const lines = Array.from({ length: 6 }, (_, line) => `line ${line}\n`);
  const { fields, file } = await readUpload(slowForm([field("a"), fileHead, ...lines, "\r\n--edge--"], 9), bounds);
  let text = "";
  for await (const part of file?.bytes ?? []) text += new TextDecoder().decode(part);
  expect([fields.get("a"), text]).toEqual(["value of a", lines.join("")]);
});

test.each([
  ["until the end if that comes soon", 6, 18_000],
  ["for 30 seconds if the sender is slow", 100, 33_000],
])("a file that nobody uses is read %s", async (_when, parts, expectedMs) => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const startedAt = performance.now();
  async function* slowFile() {
    for (let part = 0; part < parts; part++) {
      vi.advanceTimersByTime(3_000);
      yield new Uint8Array(1);
    }
  }
  await discard(slowFile());
  expect(performance.now() - startedAt).toBe(expectedMs);
});

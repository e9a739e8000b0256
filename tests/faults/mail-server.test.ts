import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startMailServer } from "../mail/smtp.ts";
import { mailWorld } from "../mail/world.ts";
import { ownStack, type Person } from "../own-stack.ts";
import { until } from "../until.ts";

const listening = (server: Server, port: number) =>
  new Promise<number>((resolve) =>
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
  );

const probe = createServer();
const port = await listening(probe, 0);
await new Promise((resolve) => probe.close(resolve));

const own = await ownStack({
  parts: ["mail-dispatch"],
  functionsEnvironment: { MAIL_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: "feedback@mail.example" },
});
const world = mailWorld(own);

const warnings = async () =>
  [...(await readFile(join(own.folder, "mail-dispatch.log"), "utf8")).matchAll(/"warning":"([^"]+)"/g)].map(
    ([, warning]) => warning,
  );

test("mail waits for a server that is away, silent or busy, arrives once when it is back, and the log says both once", async () => {
  await world.enable();
  // One: each mail that fails doubles the pause before the next.
  const [person] = (await world.confirmed()) as [Person];
  await world.changeStatus(await world.submit(person), "planned");
  const errors = () =>
    own.sql<{ error: string }[]>`select distinct last_error as error from private.mails where last_error is not null`;
  const fails = async (with_: RegExp) => {
    await until(async () => {
      await world.retryNow();
      return (await errors()).some(({ error }) => with_.test(error));
    });
  };
  await fails(/refused/);
  for (const [greet, said] of [
    [undefined, /in time/],
    ["421 Try again later\r\n", /421/],
  ] as const) {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      if (greet) socket.end(greet);
    });
    await listening(server, port);
    await fails(said);
    await new Promise((resolve) => {
      server.close(resolve);
      // Sockets of the silent server.
      server.unref();
    });
  }
  expect(await warnings()).toEqual([
    `The mail server 127.0.0.1:${port} takes no mail: The connection was refused or closed. Mail about feedback waits for up to three days and is tried each minute, mail about accounts for some minutes.`,
  ]);
  const server = await startMailServer({}, port);
  try {
    await until(async () => {
      await world.retryNow();
      return server.to(person.email).length > 0;
    });
    await world.drained();
    await until(async () => (await warnings()).length === 2);
    expect((await warnings()).at(-1)).toBe(`The mail server 127.0.0.1:${port} takes mail again.`);
    expect(server.to(person.email)).toHaveLength(1);
    expect(await own.sql`select from private.mails where status <> 'sent'`).toEqual([]);
  } finally {
    await server.stop();
  }
});

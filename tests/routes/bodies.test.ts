import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { newBoard, prepare, tokenOf } from "../access/callers.ts";
import { routesOfTheService } from "../access/service.ts";
import { expectError, send } from "../api/client.ts";
import { newUser } from "../api/world.ts";
import { hashedRows, tablesWith } from "../hashed-rows.ts";

// A JSON body that cannot be read, a missing field and a field of the wrong type are refused and change nothing. Fields
// that a body does not have are stored nowhere.

const json = { "content-type": "application/json" };
const mebibyte = 1024 * 1024;
const board = await newBoard("public");
// Here requests are accepted, and the background changes rows too.
const accepting = await newBoard("public");

// Columns that no body sets, with values that no other row has.
const somebody = await newUser();
const forged = {
  ...{ id: randomUUID(), organization_id: accepting.other.id, created_by: somebody.id, parent: somebody.id },
  ...{ author_id: somebody.id, user_id: somebody.id, profile_id: somebody.id, merged_into_id: somebody.id },
  ...{ status: "completed", moderation_state: "spam", vote_count: 98765, comment_count: 98765 },
  ...{ reply_count: 98765, response_count: 98765, max_submissions: 98765, source: "forged", plan: "forged" },
  ...{ created_at: "2001-02-03T04:05:06Z", updated_at: "2001-02-03T04:05:06Z" },
};
const marks = [forged.id, accepting.other.id, somebody.id, "completed", "spam", "98765", "forged", "2001-02-03"];

type Fields = Record<string, z.ZodType>;
const fieldsOf = (schema?: z.ZodType): Fields => (schema && "shape" in schema ? (schema.shape as Fields) : {});
/** A value that the field does not accept. */
const wrongFor = (field: z.ZodType) => [7, {}, "\0"].find((value) => !field.safeParse(value).success);

const routes = (await routesOfTheService()).flatMap((route) => {
  const { body, bodyByKey, consumes } = route.endpoint ?? {};
  return body && !consumes ? [{ name: `${route.method} ${route.path}`, route, body, bodyByKey }] : [];
});

/** The fields that the response names, without what is below them. */
function fieldsIn(body: unknown): string[] {
  const { error, details = error?.details ?? [] } = body as {
    error?: { details: { field: string }[] };
    details?: { field: string }[];
  };
  return details.map(({ field }) => field.replace(/\..*/, ""));
}

describe.each(routes)("$name", ({ route, body, bodyByKey }) => {
  test("rejects malformed JSON, another media type and more than 1 MiB", async () => {
    const { method, path, call } = await prepare(route, board.people.admin.token, board);
    const text = JSON.stringify(call.body ?? {});
    const answer = (raw: string, headers: Record<string, string> = json) =>
      send(method, path, { as: call.as, on: call.on, raw, headers });
    const before = await hashedRows(board.organization);
    expectError(await answer(`${text.slice(0, -1)},}`), "VALIDATION_ERROR", "body");
    expectError(await answer(text, { "content-type": "text/plain" }), "UNSUPPORTED_MEDIA_TYPE");
    expectError(await answer(text + " ".repeat(mebibyte)), "PAYLOAD_TOO_LARGE");
    expect(await hashedRows(board.organization)).toEqual(before);
  });

  test.each(["admin", "key with scope"] as const)("ignores other fields of the %s", async (caller) => {
    const { method, path, call } = await prepare(route, await tokenOf(caller, route, accepting), accepting);
    const known = { ...fieldsOf(body), ...fieldsOf(bodyByKey) };
    const unknown = Object.fromEntries(Object.entries(forged).filter(([name]) => !(name in known)));
    const before = await hashedRows(accepting.other);
    const { status, text } = await send(method, path, { ...call, body: { ...unknown, ...(call.body as object) } });
    expect(status, text).not.toBe(400);
    expect(await tablesWith(marks, accepting.organization)).toEqual([]);
    expect(await hashedRows(accepting.other)).toEqual(before);
  });

  const byKey = Object.entries(fieldsOf(bodyByKey)).filter(([name]) => !(name in fieldsOf(body)));
  const tries = [
    { caller: "admin" as const, fields: Object.entries(fieldsOf(body)) },
    { caller: "key with scope" as const, fields: byKey },
  ].filter(({ fields }) => fields.length > 0);

  test.each(tries)("names the missing and the wrong fields of the $caller", async ({ caller, fields }) => {
    const { method, path, call } = await prepare(route, await tokenOf(caller, route, board), board);
    const before = await hashedRows(board.organization);
    const expectNamed = async (name: string, body: object) => {
      const { status, body: answer, text } = await send(method, path, { ...call, body });
      expect([status, fieldsIn(answer)], text).toEqual([400, [name]]);
    };
    for (const [name, field] of fields) {
      const { [name]: _, ...others } = (call.body ?? {}) as Record<string, unknown>;
      await expectNamed(name, { ...others, [name]: wrongFor(field) });
      if (!field.safeParse(undefined).success) await expectNamed(name, others);
    }
    expect(await hashedRows(board.organization)).toEqual(before);
  });
});

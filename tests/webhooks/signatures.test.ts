import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import { isServiceSignature, verifySignature, verifyWebhook } from "../../shared/verify-webhook.ts";
import { passwordChanged, recordedHeaders } from "../mail/recorded.ts";

const secret = `whsec_${Buffer.alloc(32, 1).toString("base64")}`;
const id = `evt_${"0".repeat(32)}`;
const body = JSON.stringify({ id, event: "org.updated", org_id: "o", timestamp: "t", data: { name: "Zoë 🦔" } });
const now = Date.UTC(2026, 10, 21);
const at = new Date(now);

const signed = (by = secret, when = at, content = body) => ({
  "webhook-id": id,
  "webhook-timestamp": String(when.getTime() / 1000),
  "webhook-signature": new Webhook(by).sign(id, when, content),
  "x-service-signature": createHmac("sha256", by).update(content).digest("hex"),
});

describe("verifyWebhook", () => {
  test("returns the event of a request signed by the standardwebhooks package", async () => {
    expect(await verifyWebhook({ body, headers: signed() }, secret, { now })).toEqual(JSON.parse(body));
  });

  test("accepts bytes and a Headers object too", async () => {
    const request = { body: new TextEncoder().encode(body), headers: new Headers(signed()) };
    expect(await verifyWebhook(request, secret, { now })).toEqual(JSON.parse(body));
  });

  test("accepts any of several secrets and signatures", async () => {
    const before = `whsec_${Buffer.alloc(32, 2).toString("base64")}`;
    const headers = signed();
    headers["webhook-signature"] = `v2,other ${headers["webhook-signature"]} ${signed(before)["webhook-signature"]}`;
    for (const secrets of [secret, before, [before, "unknown-secret"]])
      await expect(verifyWebhook({ body, headers }, secrets, { now })).resolves.toBeDefined();
  });

  // Supabase Auth signs with each secret of its hook and joins the signatures by ", ".
  test.each([1, 2])("accepts secret %i of two with which auth signed", async (which) => {
    const own = `whsec_${Buffer.alloc(24, which).toString("base64")}`;
    const other = `whsec_${Buffer.alloc(24, 3).toString("base64")}`;
    const options = { now: Number(recordedHeaders["webhook-timestamp"]) * 1000 };
    const body = JSON.stringify(passwordChanged);
    expect(await verifySignature({ body, headers: recordedHeaders }, own, options)).toBe(body);
    await expect(verifySignature({ body, headers: recordedHeaders }, other, options)).rejects.toThrow("does not match");
  });

  test.each([" ", ", ", ",", " , "])("accepts signatures that are separated by '%s'", async (separator) => {
    const all = ["v1,AAAA", signed()["webhook-signature"], "v2,BBBB"];
    for (const order of [all, all.toReversed()]) {
      const headers = { ...signed(), "webhook-signature": order.join(separator) };
      await expect(verifyWebhook({ body, headers }, secret, { now })).resolves.toBeDefined();
    }
  });

  const forged: [string, Parameters<typeof verifyWebhook>[0]][] = [
    ["a body that was changed", { body: body.replace("Zoë", "Zoe"), headers: signed() }],
    ["a body with a space more", { body: `${body} `, headers: signed() }],
    ["another's secret", { body, headers: signed(`whsec_${Buffer.alloc(32, 3).toString("base64")}`) }],
    ["another event's id", { body, headers: { ...signed(), "webhook-id": `evt_${"1".repeat(32)}` } }],
    ["another time than was signed", { body, headers: { ...signed(), "webhook-timestamp": String(now / 1000 + 1) } }],
    ["six minutes ago", { body, headers: signed(secret, new Date(now - 360_000)) }],
    ["six minutes ahead", { body, headers: signed(secret, new Date(now + 360_000)) }],
    ["no number for a time", { body, headers: { ...signed(), "webhook-timestamp": "soon" } }],
    [
      "a signature of another version",
      { body, headers: { ...signed(), "webhook-signature": signed()["webhook-signature"].replace("v1", "v2") } },
    ],
    [
      "a signature that ends as another's version does",
      { body, headers: { ...signed(), "webhook-signature": signed()["webhook-signature"].replace("v1", "xv1") } },
    ],
    ["an empty signature", { body, headers: { ...signed(), "webhook-signature": "v1," } }],
    ["no signature", { body, headers: { "webhook-id": id, "webhook-timestamp": String(now / 1000) } }],
  ];
  test.each(forged)("rejects %s", async (_, request) => {
    await expect(verifyWebhook(request, secret, { now })).rejects.toThrow(/^webhook-/);
  });
});

describe("isServiceSignature", () => {
  test("verifies the lowercase hex HMAC-SHA256 of the body with the whole secret", async () => {
    for (const one of [secret, "any other secret"]) {
      expect(
        await isServiceSignature(
          { body, headers: { "x-service-signature": createHmac("sha256", one).update(body).digest("hex") } },
          one,
        ),
      ).toBe(true);
    }
  });

  test.each([
    ["another body", `${body} `, signed()["x-service-signature"]],
    ["upper case", body, signed()["x-service-signature"].toUpperCase()],
    ["half of it", body, signed()["x-service-signature"].slice(0, 32)],
  ])("rejects %s", async (_, content, signature) => {
    expect(await isServiceSignature({ body: content, headers: { "x-service-signature": signature } }, secret)).toBe(
      false,
    );
  });
});

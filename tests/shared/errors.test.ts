import { expect, test } from "vitest";
import { errorCodes, errorEnvelope, errorOfSqlState, errors, lowercaseErrorEnvelope } from "../../shared/errors.ts";

test("every error has a unique SQLSTATE and lowercase code", () => {
  expect(new Set(errorCodes.map((code) => errors[code].sqlstate)).size).toBe(errorCodes.length);
  expect(new Set(errorCodes.map((code) => errors[code].lowercase)).size).toBe(errorCodes.length);
});

test.each(errorCodes)("%s has a SQLSTATE of class FB that maps back to it", (code) => {
  expect(errors[code].sqlstate).toMatch(/^FB[0-9A-Z]\d\d$/);
  expect(errorOfSqlState(errors[code].sqlstate)).toBe(code);
});

test.each(["23505", "42501", "", "constructor", "__proto__"])("the SQLSTATE %j is unknown", (sqlstate) => {
  expect(errorOfSqlState(sqlstate)).toBeUndefined();
});

test("the codes of the specification have its statuses and lowercase codes", () => {
  expect(errors.VALIDATION_ERROR).toMatchObject({ status: 400, lowercase: "validation_error", jsonRpc: -32602 });
  expect(errors.UNAUTHORIZED).toMatchObject({ status: 401, lowercase: "unauthorized", jsonRpc: -32000 });
  expect(errors.PLAN_LIMIT_REACHED).toMatchObject({ status: 402, lowercase: "plan_limit_reached" });
  expect(errors.FORBIDDEN).toMatchObject({ status: 403, lowercase: "forbidden", jsonRpc: -32001 });
  expect(errors.RATE_LIMIT_EXCEEDED).toMatchObject({ status: 429, lowercase: "rate_limited", jsonRpc: -32002 });
  expect(errors.INTERNAL_ERROR).toMatchObject({ status: 500, jsonRpc: -32603 });
});

test("a numeric SQLSTATE ends with its HTTP status, and the lettered ones are conflicts", () => {
  for (const { sqlstate, status } of Object.values(errors)) {
    expect(status).toBe(/^FB\d{3}$/.test(sqlstate) ? Number(sqlstate.slice(2)) : 409);
  }
});

test("details are always in the general envelope", () => {
  const error = { code: "NOT_FOUND", message: "There is no such submission." };
  expect(errorEnvelope.safeParse({ error: { ...error, details: [] } }).success).toBe(true);
  expect(errorEnvelope.safeParse({ error }).success).toBe(false);
});

test("the submission creation endpoint for keys uses the lowercase envelope only", () => {
  expect(lowercaseErrorEnvelope.safeParse({ error: "rate_limited" }).success).toBe(true);
  expect(lowercaseErrorEnvelope.safeParse({ error: "RATE_LIMIT_EXCEEDED" }).success).toBe(false);
});

import { expect, test } from "vitest";
import { errorCodes, errorOfSqlState, errors } from "../../shared/errors.ts";

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

test("faults of ours are -32603 for agents", () => {
  for (const code of ["INTERNAL_ERROR", "SERVICE_UNAVAILABLE"] as const) expect(errors[code].jsonRpc).toBe(-32603);
});

test("a numeric SQLSTATE ends with its HTTP status, and the lettered ones are conflicts", () => {
  for (const { sqlstate, status } of Object.values(errors)) {
    expect(status).toBe(/^FB\d{3}$/.test(sqlstate) ? Number(sqlstate.slice(2)) : 409);
  }
});

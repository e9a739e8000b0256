import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { callable } from "../hostile/expected.ts";
import { client, done, expectCode, idea } from "./web-app.ts";

it("a session is returned by signUp, and later by signInWithPassword", async () => {
  const app = client();
  const credentials = { email: `${randomUUID()}@app.example`, password: randomUUID() };
  const joined = await app.auth.signUp({ ...credentials, options: { data: { name: "Cleo" } } });
  const id = joined.data.user?.id;
  const own = await app.from("profiles").select("id,kind,name,avatar_url").eq("id", id).single();
  expect(done(own)).toEqual({ id, kind: "user", name: "Cleo", avatar_url: null });
  await app.auth.signOut();
  expectCode(await app.rpc("create_submission", idea()), "42501");
  const back = await app.auth.signInWithPassword(credentials);
  expect(back.data.user?.id).toBe(id);
  expect(done(await app.rpc("create_submission", idea()))).toEqual(expect.any(String));
});

it("each function that a browser may call has a row of the specification", () => {
  const folder = new URL("../specification/", import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith(".ts"));
  const rows = files.map((name) => readFileSync(new URL(name, folder), "utf8")).join();
  expect(callable.filter((name) => !rows.includes(`"rpc ${name}"`))).toEqual([]);
});

import { randomUUID } from "node:crypto";
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { expect, test } from "vitest";
import { identityOfToken, type Keys } from "../../local/auth/identity.ts";

// The tokens that the gateway of the data API, auth and realtime of the embedded stack accept: those signed with the
// shared secret and, if Supabase Auth runs as a program, those signed with its key (ES256).

const jwtSecret = "a secret of at least thirty-two characters";
const { privateKey, publicKey } = await generateKeyPair("ES256");
const jwk = { ...(await exportJWK(publicKey)), alg: "ES256", kid: "own" };
const common: Keys = { publishableKey: "p", secretKey: "s", jwtSecret, issuer: "https://auth.example" };
const withProgram: Keys = { ...common, publicKey: jwk };
const bytesOf = (text: string) => new TextEncoder().encode(text);
const person = randomUUID();

const signed = (alg: string, key: CryptoKey | Uint8Array, kid = "own") =>
  new SignJWT({ sub: person, role: "authenticated" })
    .setProtectedHeader({ alg, kid })
    .setIssuer(common.issuer)
    .setAudience("authenticated")
    .setExpirationTime("1m")
    .sign(key);

test("the secret's tokens are accepted, and those of auth's key where there is one", async () => {
  const bySecret = await signed("HS256", bytesOf(jwtSecret));
  for (const keys of [common, withProgram]) expect((await identityOfToken(keys, bySecret)).person).toBe(person);
  const byKey = await signed("ES256", privateKey);
  expect((await identityOfToken(withProgram, byKey)).person).toBe(person);
  await expect(identityOfToken(common, byKey)).rejects.toThrow("signature");
});

test.each(["ES256", "RS256", "EdDSA"])("a foreign key of %s signs nothing, whatever id it names", async (alg) => {
  const foreign = await generateKeyPair(alg);
  for (const keys of [common, withProgram])
    for (const kid of ["own", "other"])
      await expect(identityOfToken(keys, await signed(alg, foreign.privateKey, kid))).rejects.toThrow("signature");
});

test("the text of the public key is no secret, and no signature is none", async () => {
  for (const text of [JSON.stringify(jwk), await exportSPKI(publicKey), jwk.x ?? ""])
    await expect(identityOfToken(withProgram, await signed("HS256", bytesOf(text)))).rejects.toThrow("signature");
  const [, claims, signature] = (await signed("ES256", privateKey)).split(".");
  for (const alg of ["none", "None", "RS256", "EdDSA", "HS256"]) {
    const head = Buffer.from(JSON.stringify({ alg, kid: "own" })).toString("base64url");
    for (const end of ["", signature])
      await expect(identityOfToken(withProgram, `${head}.${claims}.${end}`)).rejects.toThrow();
  }
});

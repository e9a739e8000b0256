import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync } from "node:crypto";

/** What of tokens and codes reaches the database: without the key of the data folder it gives neither back. */
export interface TokenSecrets {
  /** The same token is sealed the same, so that it can be looked up. */
  sealRefreshToken(token: string): string;
  openRefreshToken(sealed: string): string;
  /** What the link in a mail carries in place of lite's hash of the code, which a million tries would find. */
  linkToken(codeHash: string): string;
  /** What is stored of a code, from lite's hash of it or from the link. */
  storedCode(hashOrLink: string): string;
}

const prefix = "sealed.";
const isCodeHash = (text: string) => /^[0-9a-f]{64}$/.test(text);
export const isLinkToken = (text: string) => /^[\w-]{43}$/.test(text);

/** As lite hashes a code. */
export function codeHashOf(email: string, code: string): string {
  return createHash("sha256").update(`${email.toLowerCase()}${code}`).digest("hex");
}

export function tokenSecrets(secret: string): TokenSecrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", secret, "", purpose, 32));
  const [encryption, nonces, links] = ["refresh tokens", "nonces of refresh tokens", "links in mails"].map(
    derive,
  ) as [Buffer, Buffer, Buffer];

  const linkToken = (codeHash: string) => createHmac("sha256", links).update(codeHash).digest("base64url");
  return {
    sealRefreshToken(token) {
      // Made from the token, so that no two tokens share one.
      const nonce = createHmac("sha256", nonces).update(token).digest().subarray(0, 12);
      const cipher = createCipheriv("aes-256-gcm", encryption, nonce);
      const text = Buffer.concat([cipher.update(token, "utf8"), cipher.final()]);
      return prefix + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
    },
    openRefreshToken(sealed) {
      const bytes = Buffer.from(sealed.slice(prefix.length), "base64url");
      const decipher = createDecipheriv("aes-256-gcm", encryption, bytes.subarray(0, 12), {
        authTagLength: 16,
      });
      decipher.setAuthTag(bytes.subarray(12, 28));
      return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString("utf8");
    },
    linkToken,
    storedCode(hashOrLink) {
      const link = isCodeHash(hashOrLink) ? linkToken(hashOrLink) : hashOrLink;
      return createHash("sha256").update(link).digest("base64url");
    },
  };
}

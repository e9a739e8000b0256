import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync } from "node:crypto";

/** Protects stored tokens and codes: without the data folder's key the database reveals neither. */
export interface TokenSecrets {
  /** Deterministic encryption, so that tokens can be looked up. */
  encryptRefreshToken(token: string): string;
  decryptRefreshToken(encrypted: string): string;
  /** Token in mail links, instead of lite's hash of the code, which a million guesses would find. */
  linkToken(codeHash: string): string;
  /** The stored form of a code, from lite's hash or from the link token. */
  storedCode(hashOrLink: string): string;
}

const prefix = "encrypted.";
const isCodeHash = (text: string) => /^[0-9a-f]{64}$/.test(text);
export const isLinkToken = (text: string) => /^[\w-]{43}$/.test(text);

/** lite's hash of a code. */
export function codeHashOf(email: string, code: string): string {
  return createHash("sha256").update(`${email.toLowerCase()}${code}`).digest("hex");
}

export function tokenSecrets(secret: string): TokenSecrets {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", secret, "", purpose, 32));
  const [encryption, nonces, links] = ["refresh tokens", "nonces of refresh tokens", "links in mails"].map(derive) as [
    Buffer,
    Buffer,
    Buffer,
  ];

  const linkToken = (codeHash: string) => createHmac("sha256", links).update(codeHash).digest("base64url");
  return {
    encryptRefreshToken(token) {
      // Derived from the token, so that different tokens have different nonces.
      const nonce = createHmac("sha256", nonces).update(token).digest().subarray(0, 12);
      const cipher = createCipheriv("aes-256-gcm", encryption, nonce);
      const text = Buffer.concat([cipher.update(token, "utf8"), cipher.final()]);
      return prefix + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
    },
    decryptRefreshToken(encrypted) {
      const bytes = Buffer.from(encrypted.slice(prefix.length), "base64url");
      const decipher = createDecipheriv("aes-256-gcm", encryption, bytes.subarray(0, 12), { authTagLength: 16 });
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

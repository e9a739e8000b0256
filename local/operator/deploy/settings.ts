import { randomBytes } from "node:crypto";
import { siteOrigin } from "../../../shared/site-url.ts";
import { StartError } from "../../processes/start-error.ts";
import { logins } from "./env-file.ts";
import type { Target } from "./target.ts";

const random = () => randomBytes(32).toString("base64");
const newKey = () => `${randomBytes(4).toString("hex")}:${random()}`;
const newHookSecret = () => `v1,whsec_${random()}`;

const newPassword = () => randomBytes(32).toString("base64url");

interface Generated {
  make(target: Target): string;
  /** The next value, from that of feedback.env. */
  rotate(former: string, target: Target): string;
  isOfMail?: boolean;
}

const replaced = (make: Generated["make"]): Generated => ({ make, rotate: (_, target) => make(target) });

/** A URL, of which only the password is rotated: it may name the pooler. */
const login = (role: string, isOfMail = false): Generated => ({
  make: ({ databaseHost }) => `postgresql://${role}:${newPassword()}@${databaseHost}/postgres?sslmode=verify-full`,
  rotate(former, target) {
    if (!former) return this.make(target);
    return Object.assign(new URL(former), { password: newPassword() }).href;
  },
  isOfMail,
});

/** A list of keys: the first is used, and all are accepted. */
const prepended = (isOfMail = false): Generated => ({
  make: newKey,
  rotate: (former) => (former ? `${newKey()},${former}` : newKey()),
  isOfMail,
});

/** A rotation puts the new value before the former, which stays valid until a second rotation removes it. */
const overlapping = (make: () => string, isOfMail = false): Generated => ({
  make,
  rotate: (former) =>
    former.includes("|") ? (former.split("|")[0] ?? "") : [make(), former].filter(Boolean).join("|"),
  isOfMail,
});

/** Variables that a deployment makes, once, and how each is replaced. */
export const generated: Record<string, Generated> = {
  DATABASE_URL: login(logins.DATABASE_URL),
  WEBHOOK_DATABASE_URL: login(logins.WEBHOOK_DATABASE_URL),
  MAIL_DATABASE_URL: login(logins.MAIL_DATABASE_URL, true),
  ADDRESS_HASH_KEY: replaced(random),
  WEBHOOK_DISPATCH_SECRET: replaced(random),
  WEBHOOK_SECRETS_KEYS: prepended(),
  MAIL_LINK_KEYS: prepended(true),
  // Auth signs with both, and auth-mail accepts either.
  AUTH_MAIL_SECRET: overlapping(newHookSecret, true),
  // The pages' proxy has the first, and the functions believe either.
  PROXY_SECRET: overlapping(random),
};

/** The variables that feedback.env lacks or has otherwise; `names` are those to rotate. */
export async function settingsToChange(target: Target): Promise<Record<string, string>> {
  const mail = await target.optional("MAIL_URL");
  // The error has no value: it contains the provider's key.
  if (mail && !(URL.canParse(mail) && /^(smtps?|https):$/.test(new URL(mail).protocol)))
    throw new StartError(
      "MAIL_URL is not an address with smtps://, smtp:// or https://: see docs/mail.md, and encode its user and key",
    );
  const given: Record<string, string> = { SITE_URL: siteOrigin(await target.answer("SITE_URL")) ?? "" };
  if (mail) Object.assign(given, { MAIL_URL: mail, MAIL_FROM: await target.answer("MAIL_FROM") });
  const { secrets } = target;
  const defaults = { DATABASE_CONNECTIONS: "4", ADDRESS_HEADER: "cf-connecting-ip" };
  const changes = Object.entries({ ...defaults, ...secrets, ...given }).filter(
    ([name, value]) => secrets[name] !== value,
  );
  const made = Object.entries(generated).filter(([name, { isOfMail }]) => !secrets[name] && (mail || !isOfMail));
  return Object.fromEntries([...changes, ...made.map(([name, { make }]) => [name, make(target)])]);
}

export function rotated(name: string, target: Target): Record<string, string> {
  const rule = Object.hasOwn(generated, name) && generated[name];
  if (!rule) throw new StartError(`${name} is not rotated: name one of ${Object.keys(generated).join(", ")}`);
  return { [name]: rule.rotate(target.secrets[name] ?? "", target) };
}

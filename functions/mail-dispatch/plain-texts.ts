import type { Claim } from "./database.ts";

const maxName = 60;

/**
 * The claim of a mail to an invited or unconfirmed address, with harmless texts, because its recipient may know neither
 * the organization nor the authors: names are cut, and a word joiner keeps mail programs from turning an address in a
 * text into a link.
 */
export function withPlainTexts(claim: Claim): Claim {
  if (claim.profile?.is_confirmed) return claim;
  const organization = { ...claim.organization, name: plainName(claim.organization.name) };
  if (claim.kind === "invite")
    return { ...claim, organization, events: claim.events.map((event) => ({ ...event, by: plainName(event.by) })) };
  const events = claim.events.map(({ title, text, by, ...event }) => ({
    ...event,
    title: plain(title),
    ...(text !== undefined && { text: plain(text) }),
    ...(by !== undefined && { by: plainName(by) }),
  }));
  return { ...claim, organization, events };
}

// Mail programs also link addresses with fullwidth and other compatible signs. U+FEFF is invisible, not white space.
const plain = (text: string) =>
  text.replaceAll(/.(?=[\S\uFEFF])/gsu, (sign) =>
    /[.:/@\u3002]/.test(sign.normalize("NFKC")) ? `${sign}\u2060` : sign,
  );
const plainName = (name: string) => plain([...name].slice(0, maxName).join(""));

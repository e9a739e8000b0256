import type { PersonClaim } from "../database.ts";
import type { Written } from "../write-mail.tsx";
import { listMail } from "./digest.tsx";
import type { Wording } from "./layout.tsx";

/** What was submitted since the last summary, for the team. */
export function teamMail(claim: PersonClaim, wording: Wording): Written {
  const { mail } = wording.messages;
  return listMail(claim, wording, mail.team(claim.organization.name), mail.teamText(claim.events.length));
}

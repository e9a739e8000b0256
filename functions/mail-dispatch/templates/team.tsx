import type { PersonClaim } from "../database.ts";
import { listMail } from "./digest.tsx";
import type { Wording, Written } from "./layout.tsx";

/** The summary of new submissions since the last one, for the team. */
export function teamMail(claim: PersonClaim, wording: Wording): Written {
  const { mail } = wording.messages;
  return listMail(claim, wording, mail.team(claim.organization.name), mail.teamText(claim.events.length));
}

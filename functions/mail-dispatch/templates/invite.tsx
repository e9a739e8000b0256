import { signInviteLink } from "../../_shared/callers/mail-links.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { formatDay } from "../../web/format.ts";
import type { InviteClaim } from "../database.ts";
import { Button, type Wording, type Written } from "./layout.tsx";

/** The mail of an invite to the team. */
export function inviteMail(
  { organization, events, created_at }: InviteClaim,
  { messages: { admin, mail }, locale }: Wording,
): Written {
  const [{ invite_id, role, by, expires_at }] = events as [InviteClaim["events"][number]];
  const words = admin.people;
  const heading = mail.invites(by, organization.name);
  return {
    subject: mail.invite(organization.name),
    preview: heading,
    content: (
      <>
        <h1>{heading}</h1>
        <p>
          <strong>{words.roles[role]}</strong>
          {words.colon + words.roleTexts[role]}
        </p>
        <p>{mail.inviteUntil(formatDay(new Date(expires_at), locale, organization.time_zone))}</p>
        <Button href={`${environment.siteUrl}/invite?token=${signInviteLink(invite_id, created_at, "invite")}`}>
          {words.accept}
        </Button>
      </>
    ),
  };
}

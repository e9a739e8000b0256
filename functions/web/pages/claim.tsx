import { z } from "zod";
import { type MailLink, readMailLink } from "../../_shared/callers/mail-links.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { claimAuthor, openClaim } from "../../_shared/statements/mail.ts";
import { Button } from "../components/button.tsx";
import { Form } from "../components/form.tsx";
import { LinkLine } from "../components/link-line.tsx";
import { formatNumber } from "../format.ts";
import { page, plain, seeOther } from "../page.tsx";
import { optional } from "../shown.ts";
import { withReturn } from "./account.tsx";

const linked = z.object({ token: z.string().max(500).default("") });

/** The author of a signed mail link. */
function authorOf(token: string): MailLink {
  const link = readMailLink(token, "claim");
  if (!link) throw notFound("link");
  return link;
}

/** Contributions of an email author, to be moved to the author's account. */
export const claim = page({
  path: "/claim",
  query: linked,
  read: ({ query }) => [optional(openClaim(authorOf(query.token)))],
  view: ([open], { query, visit }) => {
    const { claim, me, account, words } = visit.messages;
    const here = `/claim?token=${query.token}`;
    const counts = (["submissions", "votes", "comments"] as const).filter((kind) => (open?.[kind] ?? 0) > 0);
    return {
      title: claim.title,
      noindex: true,
      content: (
        <section class="card narrow stack">
          <h1>{claim.title}</h1>
          {open ? (
            <>
              <p>{claim.text(open.organization.name)}</p>
              <p class="quiet">
                {counts.map((kind) => `${me[kind]}${words.colon}${formatNumber(open[kind], visit.locale)}`).join(" · ")}
              </p>
            </>
          ) : (
            <>
              <p>{claim.gone}</p>
              <LinkLine href="/me">{me.title}</LinkLine>
            </>
          )}
          {open?.is_own_address && (
            <Form to={here} hasTurbo={false} hasProblem={false}>
              <Button kind="main" label={claim.act} />
            </Form>
          )}
          {open && !open.is_own_address && <p>{open.is_signed_in ? claim.otherAddress : claim.needsAccount}</p>}
          {open && !open.is_signed_in && (
            <p class="buttons">
              <Button kind="main" href={withReturn("/sign-in", here)} label={account.signInTitle} />{" "}
              <Button href={withReturn("/sign-up", here)} label={account.signUpTitle} />
            </p>
          )}
        </section>
      ),
    };
  },
  actions: [
    plain({
      method: "post",
      path: "/claim",
      access: "person",
      query: linked,
      call: ({ query }) => [claimAuthor(authorOf(query.token))],
      respond: () => seeOther("/me"),
    }),
  ],
});

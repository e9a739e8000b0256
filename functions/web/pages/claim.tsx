import { z } from "zod";
import { type MailLink, readMailLink } from "../../_shared/callers/mail-links.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { claimAuthor, openClaim } from "../../_shared/statements/mail.ts";
import { page, plain, seeOther } from "../page.tsx";
import { withReturn } from "./account.tsx";

const linked = z.object({ token: z.string().max(500) });

/** The author of a signed mail link. */
function authorOf(token: string): MailLink {
  const link = readMailLink(token, "claim");
  if (!link) throw notFound("link");
  return link;
}

/** Contributions of an e-mail author, to be moved to the author's account. */
export const claim = page({
  path: "/claim",
  query: linked,
  call: ({ query }) => [openClaim(authorOf(query.token))],
  view: ([[open]], { query, visit }) => {
    const { claim, me, account } = visit.messages;
    if (!open?.data)
      return {
        title: claim.title,
        noindex: true,
        content: (
          <section class="card narrow stack">
            <h1>{claim.title}</h1>
            <p>{claim.gone}</p>
            <p>
              <a class="link" href="/me">
                {me.title}
              </a>
            </p>
          </section>
        ),
      };
    const { organization, submissions, comments, votes, is_signed_in, is_own_address } = open.data;
    const here = `/claim?token=${query.token}`;
    const counts: [string, number][] = [
      [me.submissions, submissions],
      [me.votes, votes],
      [me.comments, comments],
    ];
    return {
      title: claim.title,
      noindex: true,
      content: (
        <section class="card narrow stack">
          <h1>{claim.title}</h1>
          <p>{claim.text(organization.name)}</p>
          <p class="quiet">
            {counts
              .filter(([, count]) => count > 0)
              .map(([label, count]) => `${label}: ${count.toLocaleString(visit.locale)}`)
              .join(" · ")}
          </p>
          {is_own_address ? (
            <form method="post" action={here} data-turbo="false">
              <button type="submit" class="button main">
                {claim.act}
              </button>
            </form>
          ) : (
            <>
              <p>{is_signed_in ? claim.otherAddress : claim.needsAccount}</p>
              {!is_signed_in && (
                <p class="buttons">
                  <a class="button main" href={withReturn("/sign-in", here)}>
                    {account.signInTitle}
                  </a>{" "}
                  <a class="button" href={withReturn("/sign-up", here)}>
                    {account.signUpTitle}
                  </a>
                </p>
              )}
            </>
          )}
        </section>
      ),
    };
  },
});

export const claimForm = plain({
  method: "post",
  path: "/claim",
  access: "person",
  query: linked,
  formPage: claim,
  call: ({ query }) => [claimAuthor(authorOf(query.token))],
  respond: () => seeOther("/me"),
});

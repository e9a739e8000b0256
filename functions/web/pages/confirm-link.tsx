import { z } from "zod";
import { Problem } from "../components/field.tsx";
import { form, page, seeOther } from "../page.tsx";
import { WordedError } from "../problems.ts";
import { ownPath } from "../visit.ts";
import {
  BackToSignIn,
  Card,
  newPasswordPath,
  returnPath,
  returnQuery,
  returnTo,
  verify,
  withReturn,
} from "./account.tsx";

// Targets of links in mails and of sign-ins with a provider.

const linkTypes = ["signup", "magiclink", "recovery", "email", "email_change", "invite"] as const;
const linkQuery = z.object({
  token_hash: z.string().min(1).max(500),
  type: z.enum(linkTypes),
  return_to: returnTo,
});

/** The target of a link in a mail. It asks for confirmation: mail scanners open links too. */
export const confirmLink = page({
  path: "/auth/confirm",
  query: linkQuery.partial(),
  call: () => [],
  view: (_results, { visit, query }) => {
    const { account } = visit.messages;
    const { token_hash, type } = query;
    return {
      title: account.linkTitle,
      content: (
        <Card title={account.linkTitle} text={account.linkText}>
          <form method="post" action="/auth/confirm" class="stack" data-turbo="false">
            <Problem visit={visit} />
            <input type="hidden" name="token_hash" value={token_hash} />
            <input type="hidden" name="type" value={type} />
            <input type="hidden" name="return_to" value={returnPath(visit)} />
            <button type="submit" class="button main">
              {account.next}
            </button>
          </form>
          <BackToSignIn visit={visit} />
        </Card>
      ),
    };
  },
});

export const confirmLinkForm = form({
  path: "/auth/confirm",
  body: linkQuery,
  formPage: confirmLink,
  work: async ({ body: { token_hash, type, return_to }, visit }) => {
    await verify(visit, { token_hash, type });
    const to = ownPath(return_to) ?? "/";
    return seeOther(type === "recovery" ? withReturn(newPasswordPath, to) : to);
  },
});

/**
 * The target of OAuth providers and of hosted auth's links. Only the browser that started the flow has the
 * verifier.
 */
export const authCallback = form({
  method: "get",
  path: "/auth/callback",
  query: returnQuery.extend({ code: z.string().max(500).optional() }),
  work: async ({ query, visit }) => {
    if (!query.code) throw new WordedError("CONFLICT", visit.messages.account.expired);
    const { error } = await visit.auth().exchangeCodeForSession(query.code);
    if (error) throw new WordedError("CONFLICT", visit.messages.account.expired);
    return seeOther(ownPath(query.return_to) ?? "/");
  },
});

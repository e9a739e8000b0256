import { z } from "zod";
import { readUndoLink } from "../../_shared/callers/mail-links.ts";
import {
  type AccountOfLink,
  accountOfLink,
  addressOfUndo,
  rejectLink,
  undoAccountChange,
} from "../../_shared/statements/accounts.ts";
import { Problem } from "../components/field.tsx";
import { form, page, plain, seeOther } from "../page.tsx";
import { WordedError } from "../problems.ts";
import { ownPath, type Visit } from "../visit.ts";
import {
  afterProof,
  BackToSignIn,
  Card,
  firstPassword,
  newPasswordPath,
  refusedByAuth,
  returnPath,
  returnQuery,
  returnTo,
  verify,
  withReturn,
} from "./account.tsx";

// Targets of links in mails and of sign-ins with a provider.

const linkTypes = ["signup", "magiclink", "recovery", "email", "email_change", "invite"] as const;
const tokenHash = z.string().min(1).max(500);
const linkQuery = z.object({ token_hash: tokenHash, type: z.enum(linkTypes), return_to: returnTo });

/**
 * The target of a link in a mail. It asks for confirmation: mail scanners open links too, and somebody else may have asked for
 * the mail.
 */
export const confirmLink = page({
  path: "/auth/confirm",
  // Auth's token is a hash of the address and a code of six digits: this page would tell a guess from the right one.
  operation: "sign_in",
  query: linkQuery.partial(),
  call: ({ query, visit }) => [
    accountOfLink(query.token_hash ?? visit.refused?.typed.get("token_hash") ?? ""),
  ],
  view: ([[found]], { visit, query }) => {
    const { account } = visit.messages;
    const typed = visit.refused?.typed;
    const token_hash = query.token_hash ?? typed?.get("token_hash") ?? undefined;
    return {
      title: account.linkTitle,
      content: (
        <Card title={account.linkTitle} text={found ? ofLink(found, visit) : account.linkText}>
          <form method="post" action="/auth/confirm" class="stack" data-turbo="false">
            <Problem visit={visit} />
            <input type="hidden" name="token_hash" value={token_hash} />
            <input type="hidden" name="type" value={query.type ?? typed?.get("type") ?? undefined} />
            <input type="hidden" name="return_to" value={returnPath(visit)} />
            <button type="submit" class="button main">
              {account.next}
            </button>
          </form>
          {found && found.kind !== "confirmed" && (
            <form method="post" action="/auth/reject" class="stack" data-turbo="false">
              <input type="hidden" name="token_hash" value={token_hash} />
              <button type="submit" class="button">
                {account.notMe}
              </button>
            </form>
          )}
          <BackToSignIn visit={visit} />
        </Card>
      ),
    };
  },
});

/** What the link does, and for whose account: a person may have another one in mind. */
function ofLink({ kind, name, email }: AccountOfLink, { messages: { account } }: Visit): string {
  if (kind === "change") return account.linkOfChange(email, name);
  return kind === "confirmed" ? account.linkOfAccount(email, name) : account.linkOfNew(email, name);
}

export const confirmLinkForm = form({
  path: "/auth/confirm",
  operation: "sign_in",
  body: linkQuery,
  formPage: confirmLink,
  work: async ({ body: { token_hash, type, return_to }, visit }, _execute, _request, executeAs) => {
    const session = await verify(visit, { token_hash, type });
    const to = ownPath(return_to) ?? "/";
    if (!session) return seeOther("/auth/done?what=half");
    // The mail of a reset has the path already.
    if (new URL(to, "http://site.invalid").pathname === newPasswordPath) return seeOther(to);
    if (type === "recovery") return seeOther(withReturn(newPasswordPath, to));
    return type === "invite" ? seeOther(firstPassword(to)) : afterProof(to, session.access_token, executeAs);
  },
});

/** "This was not me": somebody else named this address. */
export const rejectLinkForm = plain({
  method: "post",
  path: "/auth/reject",
  operation: "sign_in",
  body: z.object({ token_hash: tokenHash }),
  formPage: confirmLink,
  call: ({ body: { token_hash } }) => [rejectLink(token_hash)],
  respond: ([[rejected]], { visit }) => {
    if (!rejected?.outcome) throw refusedByAuth({ code: "otp_expired", message: "" }, visit);
    return seeOther(`/auth/done?what=${rejected.outcome}`);
  },
});

const undoToken = z.object({ token: z.string().max(500) });

/** From the mail about a changed address or password: gives the account back to the owner of the address. */
export const undoLink = page({
  path: "/auth/undo",
  query: undoToken.partial(),
  call: ({ query, visit }) => [addressOfUndo(undoOf(query.token ?? visit.refused?.typed.get("token") ?? ""))],
  view: ([[found]], { visit, query }) => {
    const { account } = visit.messages;
    const title = account.undoTitle;
    return {
      title,
      content: (
        <Card title={title} text={found?.email ? account.undoText(found.email) : account.undoGone}>
          {found?.email && (
            <form method="post" action="/auth/undo" class="stack" data-turbo="false">
              <Problem visit={visit} />
              <input
                type="hidden"
                name="token"
                value={query.token ?? visit.refused?.typed.get("token") ?? undefined}
              />
              <button type="submit" class="button main">
                {account.undoAct}
              </button>
            </form>
          )}
          <BackToSignIn visit={visit} />
        </Card>
      ),
    };
  },
});

export const undoLinkForm = plain({
  method: "post",
  path: "/auth/undo",
  operation: "sign_in",
  body: undoToken,
  formPage: undoLink,
  call: ({ body: { token } }) => [undoAccountChange(undoOf(token))],
  respond: ([[undone]], { visit }) => {
    if (undone?.outcome === "taken") throw new WordedError("CONFLICT", visit.messages.account.undoTaken);
    if (!undone?.outcome) throw new WordedError("CONFLICT", visit.messages.account.undoGone);
    return seeOther("/auth/done?what=undone");
  },
});

const undoOf = (token: string) => readUndoLink(token) ?? new Uint8Array();

/** Says what a link did that signs nobody in. */
export const linkDone = page({
  path: "/auth/done",
  query: z.object({ what: z.enum(["half", "kept", "deleted", "undone"]) }),
  call: () => [],
  view: (_results, { visit, query: { what } }) => {
    const { account, errors } = visit.messages;
    const [title, text] = {
      half: [account.halfTitle, account.halfText],
      kept: [account.rejectedTitle, account.changeDropped],
      deleted: [account.rejectedTitle, account.accountDeleted],
      undone: [account.rejectedTitle, account.undone],
    }[what] as [string, string];
    return {
      title,
      content: (
        <Card title={title} text={text}>
          <p>
            {what === "undone" ? (
              <a class="button main" href="/reset">
                {account.newPasswordTitle}
              </a>
            ) : (
              <a class="button" href="/">
                {errors.back}
              </a>
            )}
          </p>
        </Card>
      ),
    };
  },
});

/**
 * The target of OAuth providers and of hosted auth's links. Only the browser that started the flow has the
 * verifier. Errors of auth are in the query; those of a provider that names none are in `error`.
 */
export const authCallback = form({
  method: "get",
  path: "/auth/callback",
  query: returnQuery.extend({
    code: z.string().max(500).optional(),
    error: z.string().max(200).optional(),
    error_code: z.string().max(200).optional(),
  }),
  work: async ({ query, visit }) => {
    if (!query.code) {
      const status = query.error === "server_error" || query.error === "temporarily_unavailable" ? 503 : 409;
      const code = query.error_code ?? query.error ?? "otp_expired";
      throw refusedByAuth({ code, status, message: "" }, visit);
    }
    const { error } = await visit.auth().exchangeCodeForSession(query.code);
    if (error) throw refusedByAuth(error, visit);
    return seeOther(ownPath(query.return_to) ?? "/");
  },
});

import { z } from "zod";
import { readUndoLink } from "../../_shared/callers/mail-links.ts";
import {
  type AccountOfLink,
  accountOfLink,
  addressOfUndo,
  rejectLink,
  undoAccountChange,
} from "../../_shared/statements/accounts.ts";
import { Button } from "../components/button.tsx";
import { Problem } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { form, page, plain, seeOther } from "../page.tsx";
import { WordedError } from "../problems.ts";
import type { Visit } from "../visit.ts";
import {
  afterProof,
  BackToSignIn,
  Card,
  firstPassword,
  newPasswordPath,
  nextPath,
  refusedByAuth,
  returnPath,
  returnTo,
  verify,
  withReturn,
} from "./account.tsx";

// Targets of links in mails and of sign-ins with a provider.

const linkTypes = ["signup", "magiclink", "recovery", "email", "email_change", "invite"] as const;
const tokenHash = z.string().min(1).max(500);

const confirm = form({
  path: "/auth/confirm",
  operation: "sign_in",
  body: z.object({ token_hash: tokenHash, type: z.enum(linkTypes), return_to: nextPath }),
  work: async ({ body: { token_hash, type, return_to: to }, visit }, _execute, _request, executeAs) => {
    const session = await verify(visit, { token_hash, type });
    if (!session) return seeOther("/auth/done?what=half");
    // The mail of a reset has the path already.
    if (new URL(to, "http://site.invalid").pathname === newPasswordPath) return seeOther(to);
    if (type === "recovery") return seeOther(withReturn(newPasswordPath, to));
    return type === "invite" ? seeOther(firstPassword(to)) : afterProof(to, session.access_token, executeAs);
  },
});

/** "This was not me": somebody else named this address. */
const reject = plain({
  method: "post",
  path: "/auth/reject",
  isAnonymous: true,
  operation: "sign_in",
  body: z.object({ token_hash: tokenHash }),
  call: ({ body: { token_hash } }) => [rejectLink(token_hash)],
  respond: ([[rejected]], { visit }) => {
    if (!rejected?.data) throw refusedByAuth({ code: "otp_expired", message: "" }, visit);
    return seeOther(`/auth/done?what=${rejected.data}`);
  },
});

/** A value of the link, or of its form if that was refused. */
const given = ({ query, refused }: Visit, name: string) => query.get(name) ?? refused?.typed.get(name) ?? undefined;

/**
 * The target of a link in a mail. It asks for confirmation: mail scanners open links too, and somebody else may have asked for
 * the mail.
 */
const confirmLink = page({
  path: "/auth/confirm",
  // Auth's token is a hash of the address and a six-digit code: a check on this page would reveal whether a guess is
  // right.
  operation: "sign_in",
  query: z.object({ token_hash: tokenHash, type: z.enum(linkTypes), return_to: returnTo }).partial(),
  read: ({ visit }) => [accountOfLink(given(visit, "token_hash") ?? "")],
  view: ([[found]], { visit }) => {
    const { account } = visit.messages;
    const token_hash = given(visit, "token_hash");
    return {
      title: account.linkTitle,
      content: (
        <Card title={account.linkTitle} text={found ? ofLink(found, visit) : account.linkText}>
          <Form
            of={confirm}
            class="stack"
            hasTurbo={false}
            hidden={{ token_hash, type: given(visit, "type") }}
            hasProblem={false}
            returnTo={returnPath(visit)}
            submit={account.next}
          >
            <Problem />
          </Form>
          {found && found.kind !== "confirmed" && (
            <Form of={reject} class="stack" hasTurbo={false} hasProblem={false} hidden={{ token_hash }}>
              <Button label={account.notMe} />
            </Form>
          )}
          <BackToSignIn />
        </Card>
      ),
    };
  },
  actions: [confirm, reject],
});

/** What the link does, and for whose account: a person may have another one in mind. */
function ofLink({ kind, name, email }: AccountOfLink, { messages: { account } }: Visit): string {
  if (kind === "change") return account.linkOfChange(email, name);
  return kind === "confirmed" ? account.linkOfAccount(email, name) : account.linkOfNew(email, name);
}

const undoToken = z.object({ token: z.string().max(500).default("") });

/** From the mail about a changed address or password: gives the account back to the owner of the address. */
const undoLink = page({
  path: "/auth/undo",
  query: undoToken.partial(),
  call: ({ visit }) => [addressOfUndo(undoOf(given(visit, "token") ?? ""))],
  view: ([[found]], { visit }) => {
    const { account } = visit.messages;
    const address = found?.data;
    const title = account.undoTitle;
    return {
      title,
      content: (
        <Card title={title} text={address ? account.undoText(address) : account.undoGone}>
          {address && (
            <Form class="stack" hasTurbo={false} hidden={{ token: given(visit, "token") }} submit={account.undoAct} />
          )}
          <BackToSignIn />
        </Card>
      ),
    };
  },
  actions: [
    plain({
      method: "post",
      path: "/auth/undo",
      isAnonymous: true,
      operation: "sign_in",
      body: undoToken,
      call: ({ body: { token } }) => [undoAccountChange(undoOf(token))],
      respond: ([[undone]], { visit }) => {
        if (undone?.data === "taken") throw new WordedError("CONFLICT", visit.messages.account.undoTaken);
        if (!undone?.data) throw new WordedError("CONFLICT", visit.messages.account.undoGone);
        return seeOther("/auth/done?what=undone");
      },
    }),
  ],
});

const undoOf = (token: string) => readUndoLink(token) ?? new Uint8Array();

/** The result of a link that does not sign in. */
const linkDone = page({
  path: "/auth/done",
  query: z.object({ what: z.enum(["half", "kept", "deleted", "undone"]) }),
  view: (_none, { visit, query: { what } }) => {
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
              <Button kind="main" href="/reset" label={account.newPasswordTitle} />
            ) : (
              <Button href="/" label={errors.back} />
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
const authCallback = form({
  method: "get",
  path: "/auth/callback",
  query: z.object({
    return_to: nextPath,
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
    return seeOther(query.return_to);
  },
});

export const linkPages = [confirmLink, undoLink, linkDone, authCallback];

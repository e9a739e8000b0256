import { z } from "zod";
import { type IdentifyRefusal, identifyRefusals, identifyToken } from "../../../shared/identify.ts";
import { RefusedToken, sessionSeconds, startSession, verifyToken } from "../../_shared/callers/identify.ts";
import { identifiedCookieName } from "../../_shared/callers/session-cookie.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import type { JsonResponse } from "../../_shared/http/endpoint.ts";
import { isOwnOrigin } from "../../_shared/http/own-addresses.ts";
import type { VerifiedToken } from "../../_shared/statements/identify.ts";
import { type Frame, pageFrame } from "../../_shared/statements/pages.ts";
import { myProfile } from "../../_shared/statements/people.ts";
import { Button } from "../components/button.tsx";
import { LinkLine } from "../components/link-line.tsx";
import { form, pageResponse, seeOther } from "../page.tsx";
import { WordedError } from "../problems.ts";
import { cookieOptions } from "../session.ts";
import { ownPath, type Visit } from "../visit.ts";
import { Card, returnTo } from "./account.tsx";

/** What a person can do about a refused link; the others are faults of the application. */
const advice: Partial<Record<IdentifyRefusal, "ended" | "taken">> = {
  expired: "ended",
  replayed: "ended",
  address_taken: "taken",
};

type Organization = NonNullable<Frame["organization"]>;

/**
 * The target of the host's link with a token. It signs its person in at once if the host led here and nobody else is signed
 * in. Otherwise it asks: any site can lead here with a link for an account of its own.
 */
const sso = form({
  method: "get",
  path: "/sso",
  ofOrganization: true,
  isBeforeFactor: true,
  hasSecretAddress: true,
  query: z.object({
    token: identifyToken.optional(),
    refused: z.enum(identifyRefusals).optional().catch(undefined),
    return_to: returnTo,
  }),
  work: async ({ query: { token, refused, return_to }, visit }, execute, request) => {
    const isIdentified = visit.session.credential.kind === "session";
    const [[found], profiles] = await execute([pageFrame(undefined), ...(isIdentified ? [myProfile()] : [])]);
    const { frame, organization } = ofPublicBoard(found);
    if (token === undefined)
      throw new WordedError(
        "CONFLICT",
        visit.messages.account.notIdentified[advice[refused ?? "malformed"] ?? "wrong"],
      );
    // A program that looks at a link must not use up its token.
    if (request.method !== "GET") return seeOther(visit.path);
    return orRefused(visit, async () => {
      const verified = await verifyLink(token, organization);
      const { claims } = verified;
      const isSame = profiles?.[0]?.data.email?.toLowerCase() === claims.email.toLowerCase();
      if (isFromHost(request, organization) && (isSame || !holdsSession(visit)))
        return signIn(verified, return_to, visit);
      const { account, errors } = visit.messages;
      const title = account.isThisYou;
      const content = (
        <Card title={title} text={account.continueAsText(organization.name, claims.email)}>
          {frame.viewer && !isSame && <p>{account.replacesSession(frame.viewer.name)}</p>}
          <form method="post" action={visit.path} class="stack" data-turbo="false">
            <input type="hidden" name="token" value={token} />
            <input type="hidden" name="return_to" value={return_to} />
            <Button kind="main" label={account.continueAs(nameOf(claims))} />
          </form>
          <LinkLine href={`${visit.base}/`}>{errors.back}</LinkLine>
        </Card>
      );
      return pageResponse({ title, content }, { frame, visit, params: {} });
    });
  },
});

/** For the button: a name that is longer than any would be cut. */
const nameOf = ({ name, email }: VerifiedToken["claims"]) => (name && name.length <= 100 ? name : email);

/** "Continue as …": the person has seen whom the link is for. Replaces the sessions of this browser. */
const ssoForm = form({
  path: "/sso",
  ofOrganization: true,
  isAnonymous: true,
  body: z.object({ token: identifyToken, return_to: returnTo }),
  work: async ({ body: { token, return_to }, visit }, execute) => {
    const [[found]] = await execute([pageFrame(undefined)]);
    const { organization } = ofPublicBoard(found);
    return orRefused(visit, async () => {
      const verified = await verifyLink(token, organization);
      visit.forget();
      return signIn(verified, return_to, visit);
    });
  },
});

/** Only the team enters a private board. */
function ofPublicBoard(found: { data: Frame } | undefined): { frame: Frame; organization: Organization } {
  const organization = found?.data.organization;
  if (organization?.visibility !== "public") throw notFound("organization");
  return { frame: found?.data as Frame, organization };
}

const verifyLink = (token: string, { id }: Organization) => verifyToken(token, { needsJti: true, organizationId: id });

/**
 * Whether the link was followed on a page of a site that the organization allows. Our own origin does not count,
 * because its pages contain links written by users. A browser that fetches the page in advance (Sec-Purpose) has not
 * followed it, and must not use up the token.
 */
function isFromHost({ headers, url }: Request, { allowed_origins }: Organization): boolean {
  const referer = headers.get("Referer") ?? "";
  if (headers.has("Sec-Purpose") || (headers.get("Sec-Fetch-Dest") ?? "document") !== "document") return false;
  if (!URL.canParse(referer)) return false;
  const { origin } = new URL(referer);
  return allowed_origins.includes(origin) && !isOwnOrigin(origin, url);
}

/** Whether this browser has a session, also one that is not valid on this page. */
const holdsSession = ({ isSignedIn, session, cookie }: Visit) =>
  isSignedIn || session.temporaryError !== undefined || cookie(identifiedCookieName) !== undefined;

async function signIn(verified: VerifiedToken, return_to: string | undefined, visit: Visit) {
  const { secret } = await startSession(verified);
  const options = { ...cookieOptions, maxAge: sessionSeconds };
  visit.session.cookies.push({ name: identifiedCookieName, value: secret, options });
  return seeOther(ownPath(return_to) ?? `${visit.base}/`);
}

/** A refused token leads to an address without it. */
const orRefused = (visit: Visit, work: () => Promise<JsonResponse>) =>
  work().catch((error: unknown) => {
    if (error instanceof RefusedToken) return seeOther(`${visit.path}?refused=${error.reason}`);
    throw error;
  });

export const ssoPages = [sso, ssoForm];

import { z } from "zod";
import { identifyRefusals, identifyToken } from "../../../shared/identify.ts";
import { notFound } from "../../_shared/api-error.ts";
import { identify, RefusedToken, sessionSeconds } from "../../_shared/identify.ts";
import { identifiedCookieName } from "../../_shared/session-cookie.ts";
import { pageFrame } from "../../_shared/statements/pages.ts";
import { form, seeOther } from "../page.tsx";
import { WordedError } from "../problems.ts";
import { cookieOptions } from "../session.ts";
import { ownPath } from "../visit.ts";
import { returnTo } from "./account.tsx";

/**
 * Signs in a person by the host's token in the URL, and redirects to a URL without it, so that no page and no Referer
 * contains the token.
 */
export const sso = form({
  method: "get",
  path: "/sso",
  ofOrganization: true,
  isAnonymous: true,
  hasSecretAddress: true,
  query: z.object({
    token: identifyToken.optional(),
    refused: z.enum(identifyRefusals).optional().catch(undefined),
    return_to: returnTo,
  }),
  work: async ({ query: { token, refused, return_to }, visit }, execute, request) => {
    const [[frame]] = await execute([pageFrame(undefined)]);
    const organization = frame?.data.organization;
    if (!organization) throw notFound("organization");
    if (token === undefined)
      throw new WordedError("CONFLICT", visit.messages.account.notIdentified(refused ?? "malformed"));
    // A program that looks at a link must not use up its token.
    if (request.method !== "GET") return seeOther(visit.path);
    try {
      const { secret } = await identify(token, { needsJti: true, organizationId: organization.id });
      visit.session.cookies.push({
        name: identifiedCookieName,
        value: secret,
        options: { ...cookieOptions, maxAge: sessionSeconds },
      });
    } catch (error) {
      if (!(error instanceof RefusedToken)) throw error;
      return seeOther(`${visit.path}?refused=${error.reason}`);
    }
    return seeOther(ownPath(return_to) ?? `${visit.base}/`);
  },
});

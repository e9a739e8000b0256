import { identifyBody } from "../../../shared/identify.ts";
import { identify, sessionSeconds } from "../../_shared/callers/identify.ts";
import { ApiError, notFound } from "../../_shared/http/api-error.ts";
import { workEndpoint } from "../../_shared/http/endpoint.ts";
import { endSession } from "../../_shared/statements/identify.ts";
import { pageFrame } from "../../_shared/statements/pages.ts";
import { action, type PageInput, seeOther } from "../page.tsx";
import { widgetCookie } from "../session.ts";

const path = "/embed/o/:organization";
const described = { method: "post", access: "public", tag: "", summary: "", responses: {} } as const;

/**
 * Exchanges the host's token for a session of the frame: docs/decisions/0265-the-session-of-the-widget.md. The island
 * asks for it, so that a refusal is JSON, for the host's developers.
 */
export const identifyInWidget = action(
  workEndpoint({
    ...described,
    path: `${path}/identify`,
    operation: "token_exchange",
    body: identifyBody,
    work: async ({ input, execute }) => {
      const { body, visit } = input as unknown as PageInput<unknown, { token: string }>;
      const [[shown]] = await execute([pageFrame(undefined)]);
      const organization = shown?.data.organization;
      if (!organization) throw notFound("organization");
      try {
        const { secret } = await identify(body.token, { organizationId: organization.id });
        visit.session.cookies.push(widgetCookie(secret, sessionSeconds));
        return seeOther(`/embed/o/${organization.slug}/news`);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const { status, message, details, extra } = error;
        return {
          status,
          json: JSON.stringify({ message, details, ...extra }),
          headers: { "Content-Type": "application/json; charset=utf-8" },
        };
      }
    },
  }),
);

/** Ends the session of the frame. One that had ended already is forgotten too. */
export const leaveWidget = action(
  workEndpoint({
    ...described,
    path: `${path}/leave`,
    work: async ({ input, execute }) => {
      const { visit } = input as unknown as PageInput;
      const { credential, cookies } = visit.session;
      cookies.push(widgetCookie("", 0));
      await execute(credential.kind === "session" ? [endSession(credential.digest)] : []).catch((error) => {
        if (!(error instanceof ApiError && error.code === "UNAUTHORIZED")) throw error;
      });
      return seeOther(`/embed${visit.base}/news`);
    },
  }),
);

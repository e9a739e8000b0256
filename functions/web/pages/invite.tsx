import { z } from "zod";
import type { joinedAnswer } from "../../../shared/members.ts";
import { showInvite } from "../../_shared/statements/members.ts";
import { parsed } from "../../_shared/statements/shapes.ts";
import { members } from "../../endpoints/members.ts";
import { messagesOf } from "../../words/index.ts";
import { Button } from "../components/button.tsx";
import { Problem } from "../components/field.tsx";
import { action, endpointOf, page } from "../page.tsx";
import { optional } from "../shown.ts";
import type { Visit } from "../visit.ts";

const tokenOf = (visit: Visit, { token }: { token?: string }) => token ?? visit.refused?.typed.get("token") ?? "";

/** The page of an invite's link, where a user with the invited address joins the team. */
export const acceptInvite = page({
  path: "/invite",
  access: "person",
  query: z.object({ token: z.string().max(200).optional() }),
  read: ({ query, visit }) => [optional(showInvite(tokenOf(visit, query)))],
  view: ([invite], { visit, query }, { viewer }) => {
    const words = visit.messages.admin.people;
    return {
      title: words.acceptTitle,
      noindex: true,
      content: (
        <section class="card narrow stack">
          <h1>{words.acceptTitle}</h1>
          {!invite ? (
            <p>{words.acceptErrors.NOT_FOUND}</p>
          ) : !invite.is_for_caller ? (
            <>
              <p>{words.acceptErrors.FORBIDDEN}</p>
              <form method="post" action="/sign-out" data-turbo="false">
                <Button>{visit.messages.nav.signOut}</Button>
              </form>
            </>
          ) : invite.status === "open" ? (
            <>
              <p>{words.acceptInto(invite.organization, words.roles[invite.role])}</p>
              <p class="quiet">{words.acceptText(viewer?.name ?? "")}</p>
              <form method="post" action="/invite" class="stack" data-turbo="false">
                <Problem />
                <input type="hidden" name="token" value={tokenOf(visit, query)} />
                <Button kind="main">{words.accept}</Button>
              </form>
            </>
          ) : (
            <p>{words.acceptErrors.GONE}</p>
          )}
        </section>
      ),
    };
  },
  actions: [
    action(endpointOf(members, "post", "/invites/accept"), {
      path: "/invite",
      errorTexts: (locale) => messagesOf(locale).admin.people.acceptErrors,
      redirectTo: ({ json }) => `/o/${parsed<z.output<typeof joinedAnswer>>(json).data.organization.slug}/admin/people`,
    }),
  ],
});

import { z } from "zod";
import { queryInteger } from "../../../shared/pagination.ts";
import type { SubmissionDetail } from "../../../shared/submissions.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { requireAdminOf, submissionDetail } from "../../_shared/statements/submissions.ts";
import { votersOf } from "../../_shared/statements/votes.ts";
import { Day } from "../components/day.tsx";
import { Icon } from "../components/icon.tsx";
import { page } from "../page.tsx";
import { hrefWith, submissionPath } from "../paths.ts";

const limit = 50;

type Voter = { user_id: string; name: string; email: string | null; voted_at: string };

/** The list of voters, for admins. */
export const voters = page({
  path: "/submissions/:id/voters",
  access: "person",
  operation: "vote_list",
  query: z.object({ page: queryInteger(1, 1000).prefault(1) }),
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  call: ({ params, query, locale }) => [
    requireAdminOf(params.id),
    submissionDetail(params.id, [], locale),
    votersOf(params.id, { page: query?.page ?? 1, limit }),
  ],
  view: ([, [shown], [list]], { query, visit }) => {
    if (!shown) throw notFound("submission");
    const { id, title }: SubmissionDetail = JSON.parse(shown.data);
    const people: Voter[] = JSON.parse(list?.data ?? "[]");
    const { manage } = visit.messages;
    const at = query?.page ?? 1;
    return {
      title: `${manage.voters} · ${title}`,
      content: (
        <div class="form-page">
          <a class="quiet with-icon" href={submissionPath(id, title)}>
            <Icon name="arrow-left" />
            {title}
          </a>
          <h1>{manage.voters}</h1>
          {people.length > 0 ? (
            <ul class="list">
              {people.map(({ name, email, voted_at }) => (
                <li class="row plain">
                  <div class="row-text">
                    <b>{name}</b>
                    {email && <p>{email}</p>}
                  </div>
                  <span class="quiet">
                    <Day at={voted_at} locale={visit.locale} />
                  </span>
                </li>
              ))}
            </ul>
          ) : (
            <p>{manage.noVoters}</p>
          )}
          {at * limit < (list?.total ?? 0) && (
            <a class="button" rel="next" href={hrefWith(visit, { page: String(at + 1) })}>
              {manage.next}
            </a>
          )}
        </div>
      ),
    };
  },
});

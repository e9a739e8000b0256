import { z } from "zod";
import { queryInteger } from "../../../shared/pagination.ts";
import { requireAdminOf, submissionDetail } from "../../_shared/statements/submissions.ts";
import { votersOf } from "../../_shared/statements/votes.ts";
import { BackToSubmission } from "../components/back.tsx";
import { Button } from "../components/button.tsx";
import { Day } from "../components/day.tsx";
import { page } from "../page.tsx";
import { hrefWith } from "../paths.ts";

const limit = 50;

/** The list of voters, for admins. */
export const voters = page({
  path: "/submissions/:id/voters",
  access: "person",
  operation: "vote_list",
  query: z.object({ page: queryInteger(1, 1000).prefault(1) }),
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  read: ({ params, query, locale }) => [
    requireAdminOf(params.id),
    submissionDetail(params.id, [], locale),
    votersOf(params.id, { page: query.page, limit }),
  ],
  view: ([, { id, title }, list], { query, visit }) => {
    const { manage } = visit.messages;
    return {
      title: `${manage.voters} · ${title}`,
      content: (
        <div class="form-page">
          <BackToSubmission of={{ id, title }} />
          <h1>{manage.voters}</h1>
          {list.data.length > 0 ? (
            <ul class="list">
              {list.data.map(({ name, email, voted_at }) => (
                <li class="row plain">
                  <div class="row-text">
                    <b>{name}</b>
                    {email && <p>{email}</p>}
                  </div>
                  <span class="quiet">
                    <Day at={voted_at} />
                  </span>
                </li>
              ))}
            </ul>
          ) : (
            <p>{manage.noVoters}</p>
          )}
          {query.page * limit < list.total && (
            <Button rel="next" href={hrefWith(visit, { page: String(query.page + 1) })} label={manage.next} />
          )}
        </div>
      ),
    };
  },
});

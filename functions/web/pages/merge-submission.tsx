import { z } from "zod";
import { text } from "../../../shared/text.ts";
import { mergeCandidates, requireAdminOf, submissionDetail } from "../../_shared/statements/submissions.ts";
import { adminModeration } from "../../endpoints/admin-moderation.ts";
import { BackToSubmission } from "../components/back.tsx";
import { Button } from "../components/button.tsx";
import { Problem } from "../components/field.tsx";
import { FormButton } from "../components/form-button.tsx";
import { Icon } from "../components/icon.tsx";
import { SearchField } from "../components/search-field.tsx";
import { Status } from "../components/status.tsx";
import { formatNumber } from "../format.ts";
import { action, endpointOf, page } from "../page.tsx";
import { submissionPath } from "../paths.ts";

const query = z.object({ q: text({ min: 0, max: 200 }).optional() });

/** Selects the target of a merge: by search, by URL, or among similar submissions. */
export const mergeSubmission = page({
  path: "/submissions/:id/merge",
  access: "person",
  query,
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  read: ({ params, query, locale }) => [
    requireAdminOf(params.id),
    submissionDetail(params.id, [], locale),
    mergeCandidates(params.id, query.q || undefined),
  ],
  view: ([, { id, title }, candidates], { query, visit }) => {
    const { manage, submission, board, words } = visit.messages;
    return {
      title: manage.mergeTitle,
      content: (
        <div class="form-page">
          <BackToSubmission of={{ id, title }} />
          <h1>{manage.mergeTitle}</h1>
          <p class="quiet">{manage.mergeText}</p>
          <Problem />
          <search>
            <form method="get" action={`/submissions/${id}/merge`} class="bar">
              <SearchField label={manage.mergeSearch} value={query.q} />
              <Button label={board.search} />
            </form>
          </search>
          {candidates.length > 0 ? (
            <ul class="list">
              {candidates.map((candidate) => (
                <li class="row plain">
                  <div class="row-text">
                    <h2 dir="auto">
                      <a href={submissionPath(candidate.id, candidate.title)}>{candidate.title}</a>
                    </h2>
                    <div class="facts">
                      <Status status={candidate.status} />
                      <span class="with-icon">
                        <Icon name="chevron-up" />
                        {formatNumber(candidate.vote_count, visit.locale)}
                      </span>
                    </div>
                  </div>
                  <FormButton
                    hidden={{ source_ids: id, target_id: candidate.id }}
                    returnTo={submissionPath(candidate.id, candidate.title)}
                    label={`${manage.mergeInto}${words.colon}${candidate.title}`}
                  >
                    {manage.mergeInto}
                  </FormButton>
                </li>
              ))}
            </ul>
          ) : (
            <p>{manage.noCandidates}</p>
          )}
          <Button href={submissionPath(id, title)} label={submission.cancel} />
        </div>
      ),
    };
  },
  actions: [action(endpointOf(adminModeration, "post", "/admin/merge"), { path: "/submissions/:id/merge" })],
});

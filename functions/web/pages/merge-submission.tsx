import { z } from "zod";
import type { SubmissionDetail, SubmissionStatus } from "../../../shared/submissions.ts";
import { text } from "../../../shared/text.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { mergeCandidates, requireAdminOf, submissionDetail } from "../../_shared/statements/submissions.ts";
import { Problem } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { Status } from "../components/status.tsx";
import { formatNumber } from "../format.ts";
import { page } from "../page.tsx";
import { submissionPath } from "../paths.ts";

const query = z.object({ q: text({ min: 0, max: 200 }).optional() });

type Candidate = { id: string; title: string; status: SubmissionStatus; vote_count: number };

/** Selects the target of a merge: by search, by URL, or among similar submissions. */
export const mergeSubmission = page({
  path: "/submissions/:id/merge",
  access: "person",
  query,
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  call: ({ params, query, locale }) => [
    requireAdminOf(params.id),
    submissionDetail(params.id, [], locale),
    mergeCandidates(params.id, query?.q || undefined),
  ],
  view: ([, [shown], [found]], { query, visit }) => {
    if (!shown) throw notFound("submission");
    const { id, title }: SubmissionDetail = JSON.parse(shown.data);
    const candidates: Candidate[] = JSON.parse(found?.data ?? "[]");
    const { manage, submission, board } = visit.messages;
    return {
      title: manage.mergeTitle,
      content: (
        <div class="form-page">
          <a class="quiet with-icon" href={submissionPath(id, title)}>
            <Icon name="arrow-left" />
            {title}
          </a>
          <h1>{manage.mergeTitle}</h1>
          <p class="quiet">{manage.mergeText}</p>
          <Problem visit={visit} />
          <search>
            <form method="get" action={`/submissions/${id}/merge`} class="bar">
              <label class="search grow">
                <Icon name="search" />
                <input
                  type="search"
                  name="q"
                  value={query?.q}
                  maxlength={200}
                  placeholder={manage.mergeSearch}
                  aria-label={manage.mergeSearch}
                />
              </label>
              <button type="submit" class="button">
                {board.search}
              </button>
            </form>
          </search>
          {candidates.length > 0 ? (
            <ul class="list">
              {candidates.map((candidate) => (
                <li class="row plain">
                  <div class="row-text">
                    <h2>
                      <a href={submissionPath(candidate.id, candidate.title)}>{candidate.title}</a>
                    </h2>
                    <div class="facts">
                      <Status status={candidate.status} messages={visit.messages} />
                      <span class="with-icon">
                        <Icon name="chevron-up" />
                        {formatNumber(candidate.vote_count, visit.locale)}
                      </span>
                    </div>
                  </div>
                  <form method="post" action={`/submissions/${id}/merge`}>
                    <input type="hidden" name="source_ids" value={id} />
                    <input type="hidden" name="target_id" value={candidate.id} />
                    <input
                      type="hidden"
                      name="return_to"
                      value={submissionPath(candidate.id, candidate.title)}
                    />
                    <button
                      type="submit"
                      class="button"
                      aria-label={`${manage.mergeInto}: ${candidate.title}`}
                    >
                      {manage.mergeInto}
                    </button>
                  </form>
                </li>
              ))}
            </ul>
          ) : (
            <p>{manage.noCandidates}</p>
          )}
          <a class="button" href={submissionPath(id, title)}>
            {submission.cancel}
          </a>
        </div>
      ),
    };
  },
});

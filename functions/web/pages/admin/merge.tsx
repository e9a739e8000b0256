import type { Child } from "hono/jsx";
import type { z } from "zod";
import type { mergedAnswer } from "../../../../shared/moderation.ts";
import type { Statement } from "../../../_shared/database/run.ts";
import { type MergePreview, mergePreview } from "../../../_shared/statements/moderation.ts";
import { type Data, parsed } from "../../../_shared/statements/shapes.ts";
import {
  type Candidate,
  type Chosen,
  chosenSubmissions,
  mergedSubmissions as listMerged,
  mergeCandidates,
  similarPairs,
} from "../../../_shared/statements/submissions.ts";
import { adminModeration } from "../../../endpoints/admin-moderation.ts";
import { DataTable, day } from "../../components/admin/table.tsx";
import { Button } from "../../components/button.tsx";
import { Problem } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { SearchField } from "../../components/search-field.tsx";
import { Status } from "../../components/status.tsx";
import { formatList, formatNumber } from "../../format.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath, submissionPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import { optional } from "../../shown.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";
import { idsOf, NothingChosen } from "./submissions.tsx";

const maxSources = 20;
const nothing =
  <Value,>(): Statement<Data<Value>> =>
  (sql) =>
    sql`select null::text as data`;

/** The selected sources and target, and the search words, from the URL. */
const planOf = (visit: Visit) => {
  const [target] = idsOf(visit, "target", 1);
  const sources = idsOf(visit, "ids", maxSources + 1).filter((id) => id !== target);
  return { sources: sources.slice(0, maxSources), target, words: visit.query.get("q")?.slice(0, 200) || undefined };
};

export const mergeSubmissions = adminPage({
  area: "submissions",
  path: "/merge",
  read: ({ visit }) => {
    const { sources, target, words } = planOf(visit);
    const [first] = sources;
    return [
      chosenSubmissions(target ? [...sources, target] : sources),
      optional(first && !target ? mergeCandidates(first, words) : nothing<Candidate[]>()),
      optional(first && target ? mergePreview(sources, target) : nothing<MergePreview>()),
    ];
  },
  view: ([chosen, found = [], made], { words, visit }) => {
    const target = chosen.find(({ id }) => id === planOf(visit).target);
    const sources = chosen.filter((row) => row !== target);
    const candidates = found.filter(({ id }) => chosen.every((row) => row.id !== id));
    return {
      title: words.mergeTitle,
      trail: [],
      content: (
        <>
          <Problem />
          {visit.refused && <p class="problem">{visit.refused.message}</p>}
          {sources.length === 0 ? (
            <NothingChosen />
          ) : target && made ? (
            <Planned target={target} sources={sources} made={made} />
          ) : (
            <Targets sources={sources} candidates={candidates} />
          )}
        </>
      ),
    };
  },
  actions: [
    {
      of: endpointOf(adminModeration, "post", "/admin/merge"),
      done: ({ json }) => ({
        done: "merged",
        count: parsed<z.output<typeof mergedAnswer>>(json).data.source_ids.length,
      }),
      next: "/merged",
    },
  ],
});

/** The merge page of these. */
function mergeHref(visit: Visit, ids: string[], target?: string): string {
  const query = new URLSearchParams(ids.map((id) => ["ids", id]));
  if (target) query.set("target", target);
  return `${adminPath(visit, "/submissions/merge")}?${query}`;
}

type ItemsProps = { rows: Candidate[]; after?: ((row: Candidate) => Child) | undefined };

/** Submissions, each with buttons after it. */
const Items = ({ rows, after }: ItemsProps) => {
  const visit = useVisit();
  return (
    <ul class="list">
      {rows.map((row) => (
        <li class="row plain">
          <div class="row-text">
            <h3 dir="auto">
              <a href={submissionPath(row.id, row.title)}>{row.title}</a>
            </h3>
            <div class="facts">
              <Status status={row.status} messages={visit.messages} />
              <span class="with-icon">
                <Icon name="chevron-up" />
                {formatNumber(row.vote_count, visit.locale)}
              </span>
            </div>
          </div>
          {after?.(row)}
        </li>
      ))}
    </ul>
  );
};

const Targets = ({ sources, candidates }: { sources: Chosen[]; candidates: Candidate[] }) => {
  const words = useWords("submissions");
  const visit = useVisit();
  const ids = sources.map(({ id }) => id);
  const into = (row: Candidate) => (
    <Button kind="small" href={mergeHref(visit, ids, row.id)} label={words.into} of={row.title} />
  );
  return (
    <>
      <p class="quiet">{words.mergeText}</p>
      <section class="stack">
        <h2>{words.chosenOnes}</h2>
        <Items rows={sources} after={sources.length > 1 ? into : undefined} />
      </section>
      <section class="stack">
        <h2>{words.others}</h2>
        <search>
          <form method="get" action={adminPath(visit, "/submissions/merge")} class="bar inbox-bar">
            {ids.map((id) => (
              <input type="hidden" name="ids" value={id} />
            ))}
            <SearchField label={words.mergeSearch} value={visit.query.get("q")} />
            <Button>{visit.messages.board.search}</Button>
          </form>
        </search>
        {candidates.length > 0 ? (
          <Items
            rows={candidates}
            after={(row) => (
              <div class="buttons">
                {ids.length < maxSources && (
                  <Button
                    kind="small"
                    href={mergeHref(visit, [...ids, row.id])}
                    label={words.mergeToo}
                    of={row.title}
                  />
                )}
                {into(row)}
              </div>
            )}
          />
        ) : (
          <p>{words.noCandidates}</p>
        )}
      </section>
    </>
  );
};

const Planned = ({ target, sources, made }: { target: Chosen; sources: Chosen[]; made: MergePreview }) => {
  const words = useWords("submissions");
  const visit = useVisit();
  const ids = sources.map(({ id }) => id);
  const sum = (name: "vote_count" | "comment_count") => sources.reduce((total, row) => total + row[name], target[name]);
  const twice = sum("vote_count") - made.vote_count;
  return (
    <section class="card confirm">
      <h2>{words.planned(sources.length)}</h2>
      <Items rows={sources} />
      <h2>{words.intoThis}</h2>
      <Items rows={[target]} />
      <h2>{words.makes}</h2>
      <ul class="lost" id="merge-makes">
        <li>{words.votesAfter(made.vote_count)}</li>
        {twice > 0 && <li>{words.votesTwice(twice)}</li>}
        <li>{words.commentsAfter(made.comment_count)}</li>
        {made.tags.length > 0 && <li>{`${words.tagsGained}${words.colon}${formatList(made.tags, visit.locale)}`}</li>}
        {made.earlier_count > 0 && <li>{words.earlier(made.earlier_count)}</li>}
        <li>{words.told(made.follower_count)}</li>
        <li>{words.canUndo}</li>
      </ul>
      <Form
        to={mergeHref(visit, ids, target.id)}
        class="buttons"
        hidden={{ source_ids: ids, target_id: target.id }}
        hasProblem={false}
      >
        <Button kind="main" icon="merge" label={words.mergeNow(sources.length)} />
        <Button href={mergeHref(visit, [...ids, target.id])}>{words.otherTarget}</Button>
      </Form>
    </section>
  );
};

/** Merged submissions, which can be unmerged. */
export const mergedSubmissions = adminPage({
  area: "submissions",
  path: "/merged",
  read: () => [listMerged(100)],
  view: ([rows], { words }) => ({
    title: words.merged,
    trail: [],
    content: (
      <>
        <Problem />
        <p class="quiet">{words.mergedText}</p>
        <DataTable
          id="merged"
          caption={words.merged}
          rows={rows}
          rowId={({ id }) => id}
          columns={[
            { label: words.source, cell: ({ id, title }) => <a href={submissionPath(id, title)}>{title}</a> },
            {
              label: words.target,
              cell: ({ target_id, target_title }) => (
                <a href={submissionPath(target_id, target_title)}>{target_title}</a>
              ),
            },
            day("merged_at", words.changed),
            {
              label: words.unmerge,
              hasQuietLabel: true,
              cell: ({ id, title }) => (
                <Form hidden={{ submission_id: id }} hasProblem={false}>
                  <Button kind="small" icon="undo-2" label={words.unmerge} of={title} />
                </Form>
              ),
            },
          ]}
          empty={<p>{words.noneMerged}</p>}
        />
      </>
    ),
  }),
  actions: [
    { of: endpointOf(adminModeration, "post", "/admin/unmerge"), path: "/unmerge", done: "unmerged", next: "/merged" },
  ],
});

/** Groups of similar submissions, the largest first. */
export const similarSubmissions = adminPage({
  area: "submissions",
  path: "/similar",
  runsLong: true,
  read: () => [similarPairs(60)],
  view: ([pairs], { words, visit }) => {
    const groups = groupsOf(pairs);
    return {
      title: words.similar,
      trail: [],
      content: (
        <>
          <p class="quiet">{words.similarText}</p>
          {groups.length === 0 ? (
            <div class="empty">
              <p>{words.noneSimilar}</p>
            </div>
          ) : (
            groups.map((group) => (
              <section class="card stack">
                <div class="heading">
                  <h2>{words.alike(group.length)}</h2>
                  <Button
                    kind="small"
                    icon="merge"
                    href={mergeHref(
                      visit,
                      group.slice(1).map(({ id }) => id),
                      group[0]?.id,
                    )}
                    label={words.merge}
                    of={group[0]?.title}
                  />
                </div>
                <Items rows={group} />
              </section>
            ))
          )}
        </>
      ),
    };
  },
});

/** A group is a submission and those similar to it. Each is in at most one group; the most voted comes first. */
function groupsOf(pairs: { one: Chosen; other: Chosen }[]): Chosen[][] {
  const alike = new Map<string, Map<string, Chosen>>();
  for (const { one, other } of pairs)
    for (const [row, like] of [
      [one, other],
      [other, one],
    ] as const)
      alike.set(row.id, (alike.get(row.id) ?? new Map([[row.id, row]])).set(like.id, like));
  const taken = new Set<string>();
  const groups: Chosen[][] = [];
  for (const [id, rows] of [...alike].sort(([, a], [, b]) => b.size - a.size)) {
    const group = [...rows.values()].filter((row) => !taken.has(row.id));
    if (taken.has(id) || group.length < 2) continue;
    for (const row of group) taken.add(row.id);
    groups.push(group.sort((a, b) => b.vote_count - a.vote_count || (a.id < b.id ? -1 : 1)));
  }
  return groups.sort((a, b) => b.length - a.length).slice(0, 30);
}

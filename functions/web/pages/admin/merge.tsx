import type { Statement } from "../../../_shared/database/run.ts";
import { mergePreview } from "../../../_shared/statements/moderation.ts";
import type { Data } from "../../../_shared/statements/shapes.ts";
import {
  type Chosen,
  chosenSubmissions,
  mergedSubmissions as listMerged,
  mergeCandidates,
  similarPairs,
} from "../../../_shared/statements/submissions.ts";
import { adminModeration } from "../../../endpoints/admin-moderation.ts";
import { DataTable } from "../../components/admin/table.tsx";
import { Day } from "../../components/day.tsx";
import { Problem } from "../../components/field.tsx";
import { Icon } from "../../components/icon.tsx";
import { Status } from "../../components/status.tsx";
import { formatNumber } from "../../format.ts";
import { endpointOf, type Page } from "../../page.tsx";
import { adminPath, submissionPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";
import { idsOf, NothingChosen } from "./submissions.tsx";

type Preview = {
  vote_count: number;
  comment_count: number;
  follower_count: number;
  earlier_count: number;
  tags: string[];
};

const maxSources = 20;
const nothing: Statement<Data> = (sql) => sql`select 'null' as data`;

/** The selected sources and target, and the search words, from the URL. */
const planOf = (visit: Visit) => {
  const [target] = idsOf(visit, "target", 1);
  const sources = idsOf(visit, "ids", maxSources + 1).filter((id) => id !== target);
  return {
    sources: sources.slice(0, maxSources),
    target,
    words: visit.query.get("q")?.slice(0, 200) || undefined,
  };
};

export const mergeSubmissions: Page = adminPage({
  area: "submissions",
  path: "/merge",
  call: ({ visit }) => {
    const { sources, target, words } = planOf(visit);
    const [first] = sources;
    return [
      chosenSubmissions(target ? [...sources, target] : sources),
      first && !target ? mergeCandidates(first, words) : nothing,
      first && target ? mergePreview(sources, target) : nothing,
    ];
  },
  view: ([[chosen], [found], [preview]], { words, visit }) => {
    const rows: Chosen[] = JSON.parse(chosen?.data ?? "[]");
    const target = rows.find(({ id }) => id === planOf(visit).target);
    const sources = rows.filter((row) => row !== target);
    const chosenIds = new Set(rows.map(({ id }) => id));
    const candidates: Chosen[] = (JSON.parse(found?.data ?? "null") ?? []).filter(
      ({ id }: Chosen) => !chosenIds.has(id),
    );
    const made: Preview | null = JSON.parse(preview?.data ?? "null");
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
});

/** The merge page of these. */
function mergeHref(visit: Visit, ids: string[], target?: string): string {
  const query = new URLSearchParams(ids.map((id) => ["ids", id]));
  if (target) query.set("target", target);
  return `${adminPath(visit, "/submissions/merge")}?${query}`;
}

const Item = ({ row, children }: { row: Chosen; children?: unknown }) => {
  const visit = useVisit();
  return (
    <li class="row plain">
      <div class="row-text">
        <h3>
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
      {children}
    </li>
  );
};

const Targets = ({ sources, candidates }: { sources: Chosen[]; candidates: Chosen[] }) => {
  const words = useWords("submissions");
  const visit = useVisit();
  const ids = sources.map(({ id }) => id);
  const into = (row: Chosen) => (
    <a class="button small" href={mergeHref(visit, ids, row.id)} aria-label={`${words.into}: ${row.title}`}>
      {words.into}
    </a>
  );
  return (
    <>
      <p class="quiet">{words.mergeText}</p>
      <section class="stack">
        <h2>{words.chosenOnes}</h2>
        <ul class="list">
          {sources.map((row) => (
            <Item row={row}>{sources.length > 1 && into(row)}</Item>
          ))}
        </ul>
      </section>
      <section class="stack">
        <h2>{words.others}</h2>
        <search>
          <form method="get" action={adminPath(visit, "/submissions/merge")} class="bar inbox-bar">
            {ids.map((id) => (
              <input type="hidden" name="ids" value={id} />
            ))}
            <label class="search grow">
              <Icon name="search" />
              <input
                type="search"
                name="q"
                value={visit.query.get("q") ?? ""}
                maxlength={200}
                aria-label={words.mergeSearch}
                placeholder={words.mergeSearch}
              />
            </label>
            <button type="submit" class="button">
              {visit.messages.board.search}
            </button>
          </form>
        </search>
        {candidates.length > 0 ? (
          <ul class="list">
            {candidates.map((row) => (
              <Item row={row}>
                <div class="buttons">
                  {ids.length < maxSources && (
                    <a
                      class="button small"
                      href={mergeHref(visit, [...ids, row.id])}
                      aria-label={`${words.mergeToo}: ${row.title}`}
                    >
                      {words.mergeToo}
                    </a>
                  )}
                  {into(row)}
                </div>
              </Item>
            ))}
          </ul>
        ) : (
          <p>{words.noCandidates}</p>
        )}
      </section>
    </>
  );
};

const Planned = ({ target, sources, made }: { target: Chosen; sources: Chosen[]; made: Preview }) => {
  const words = useWords("submissions");
  const visit = useVisit();
  const ids = sources.map(({ id }) => id);
  const sum = (name: "vote_count" | "comment_count") =>
    sources.reduce((total, row) => total + row[name], target[name]);
  const twice = sum("vote_count") - made.vote_count;
  return (
    <section class="card confirm">
      <h2>{words.planned(sources.length)}</h2>
      <ul class="list">
        {sources.map((row) => (
          <Item row={row} />
        ))}
      </ul>
      <h2>{words.intoThis}</h2>
      <ul class="list">
        <Item row={target} />
      </ul>
      <h2>{words.makes}</h2>
      <ul class="lost" id="merge-makes">
        <li>{words.votesAfter(made.vote_count)}</li>
        {twice > 0 && <li>{words.votesTwice(twice)}</li>}
        <li>{words.commentsAfter(made.comment_count)}</li>
        {made.tags.length > 0 && (
          <li>
            {words.tagsGained}: {made.tags.join(", ")}
          </li>
        )}
        {made.earlier_count > 0 && <li>{words.earlier(made.earlier_count)}</li>}
        <li>{words.told(made.follower_count)}</li>
        <li>{words.canUndo}</li>
      </ul>
      <form method="post" action={mergeHref(visit, ids, target.id)} class="buttons">
        {ids.map((id) => (
          <input type="hidden" name="source_ids" value={id} />
        ))}
        <input type="hidden" name="target_id" value={target.id} />
        <button type="submit" class="button main">
          <Icon name="merge" />
          {words.mergeNow(sources.length)}
        </button>
        <a class="button" href={mergeHref(visit, [...ids, target.id])}>
          {words.otherTarget}
        </a>
      </form>
    </section>
  );
};

export const mergeChosen = adminAction(endpointOf(adminModeration, "post", "/admin/merge"), {
  area: "submissions",
  path: "/merge",
  formPage: mergeSubmissions,
  doneMessage: ({ json }) => ({ done: "merged", count: JSON.parse(json).data.source_ids.length }),
  redirectTo: (_response, { visit }) => adminPath(visit, "/submissions/merged"),
});

type Merged = { id: string; title: string; merged_at: string; target_id: string; target_title: string };

/** Merged submissions, which can be unmerged. */
export const mergedSubmissions: Page = adminPage({
  area: "submissions",
  path: "/merged",
  call: () => [listMerged(100)],
  view: ([[list]], { words, visit }) => {
    const rows: Merged[] = JSON.parse(list?.data ?? "[]");
    return {
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
              {
                key: "source",
                label: words.source,
                cell: ({ id, title }) => <a href={submissionPath(id, title)}>{title}</a>,
              },
              {
                key: "target",
                label: words.target,
                cell: ({ target_id, target_title }) => (
                  <a href={submissionPath(target_id, target_title)}>{target_title}</a>
                ),
              },
              {
                key: "at",
                label: words.changed,
                cell: ({ merged_at }) => <Day at={merged_at} locale={visit.locale} />,
              },
              {
                key: "unmerge",
                label: words.unmerge,
                hasQuietLabel: true,
                cell: ({ id, title }) => (
                  <form method="post" action={adminPath(visit, "/submissions/unmerge")}>
                    <input type="hidden" name="submission_id" value={id} />
                    <button type="submit" class="button small" aria-label={`${words.unmerge}: ${title}`}>
                      <Icon name="undo-2" />
                      {words.unmerge}
                    </button>
                  </form>
                ),
              },
            ]}
            empty={<p>{words.noneMerged}</p>}
          />
        </>
      ),
    };
  },
});

export const unmerge = adminAction(endpointOf(adminModeration, "post", "/admin/unmerge"), {
  area: "submissions",
  path: "/unmerge",
  formPage: mergedSubmissions,
  doneMessage: "unmerged",
  redirectTo: (_response, { visit }) => adminPath(visit, "/submissions/merged"),
});

/** Groups of similar submissions, the largest first. */
export const similarSubmissions = adminPage({
  area: "submissions",
  path: "/similar",
  runsLong: true,
  call: () => [similarPairs(60)],
  view: ([[pairs]], { words, visit }) => {
    const groups = groupsOf(JSON.parse(pairs?.data ?? "[]"));
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
                  <a
                    class="button small"
                    href={mergeHref(
                      visit,
                      group.slice(1).map(({ id }) => id),
                      group[0]?.id,
                    )}
                    aria-label={`${words.merge}: ${group[0]?.title}`}
                  >
                    <Icon name="merge" />
                    {words.merge}
                  </a>
                </div>
                <ul class="list">
                  {group.map((row) => (
                    <Item row={row} />
                  ))}
                </ul>
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

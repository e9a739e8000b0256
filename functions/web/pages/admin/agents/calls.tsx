import { z } from "zod";
import { type agentAuditAnswer, agentAuditQuery } from "../../../../../shared/agents.ts";
import { agentAudit, listAgentKeys, listAgents } from "../../../../_shared/statements/agents.ts";
import { tools } from "../../../../mcp/registry.ts";
import type { Key } from "../../../components/admin/keys.tsx";
import { Moment } from "../../../components/admin/moment.tsx";
import { DataTable } from "../../../components/admin/table.tsx";
import { Field } from "../../../components/field.tsx";
import { hrefWith } from "../../../paths.ts";
import { adminPage } from "../admin-page.tsx";
import { agentNamed, area, pathOf, trailOf, words } from "./shared.tsx";

type Call = z.output<typeof agentAuditAnswer>["data"][number];

const callsQuery = z.preprocess(
  (sent) => Object.fromEntries(Object.entries(sent as object).filter(([, value]) => value !== "")),
  agentAuditQuery,
);

export const agentCalls = adminPage({
  area,
  path: "/:id/calls",
  query: callsQuery,
  words,
  call: ({ params: { id }, query }) => [listAgents(), agentAudit(id, query), listAgentKeys(id)],
  view: ([list, [trail], [keys]], { visit, words, params, query }) => {
    const shown = agentNamed(list, params.id);
    const calls = JSON.parse(trail?.data ?? "[]") as Call[];
    const ends = new Map(
      (JSON.parse(keys?.data ?? "[]") as Key[]).map(({ id, last_four }) => [id, `…${last_four}`]),
    );
    const last = calls.length === query.limit ? calls.at(-1) : undefined;
    return {
      title: words.calls,
      trail: trailOf(visit, shown),
      content: (
        <>
          <p class="quiet lead">{words.callsText}</p>
          <form method="get" action={`${pathOf(visit, shown.id)}/calls`} class="filter">
            <Field
              name="tool"
              label={words.tool}
              value={query.tool ?? ""}
              options={[
                { value: "", label: words.all },
                ...tools.map(({ name }) => ({ value: name, label: name })),
              ]}
              visit={visit}
            />
            <Field
              name="outcome"
              label={words.outcome}
              value={query.outcome ?? ""}
              placeholder={words.outcomeHint}
              maxlength={64}
              autocomplete="off"
              visit={visit}
            />
            <button type="submit" class="button">
              {words.filter}
            </button>
          </form>
          <DataTable
            id="calls"
            caption={words.calls}
            columns={[
              { key: "tool", label: words.tool, cell: ({ tool }) => <code>{tool}</code> },
              {
                key: "outcome",
                label: words.outcome,
                cell: ({ outcome }) => (
                  <span class={`status ${outcome === "ok" ? "delivered" : "failed"}`}>{outcome}</span>
                ),
              },
              {
                key: "arguments",
                label: words.argumentNames,
                cell: ({ argument_names }) => <span class="quiet">{argument_names.join(", ")}</span>,
              },
              {
                key: "duration",
                label: words.duration,
                isNumber: true,
                cell: ({ duration_ms }) =>
                  new Intl.NumberFormat(visit.locale, {
                    style: "unit",
                    unit: "millisecond",
                    maximumFractionDigits: 1,
                  }).format(duration_ms),
              },
              { key: "key", label: words.key, cell: ({ key_id }) => <code>{ends.get(key_id) ?? ""}</code> },
              {
                key: "time",
                label: words.time,
                cell: ({ created_at }) => <Moment at={created_at} locale={visit.locale} />,
              },
            ]}
            rows={calls}
            rowId={({ id }) => String(id)}
            empty={<p>{words.noCalls}</p>}
            visit={visit}
          />
          <nav class="pages" aria-label={words.calls}>
            {query.before !== undefined && <a href={hrefWith(visit, { before: null })}>{words.newest}</a>}
            {last && (
              <a class="button" rel="next" href={hrefWith(visit, { before: String(last.id) })}>
                {words.older}
              </a>
            )}
          </nav>
        </>
      ),
    };
  },
});

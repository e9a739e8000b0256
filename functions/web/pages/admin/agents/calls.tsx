import { agentAuditQuery } from "../../../../../shared/agents.ts";
import { agentAudit, listAgentKeys, listAgents } from "../../../../_shared/statements/agents.ts";
import { tools } from "../../../../mcp/registry.ts";
import { Filters } from "../../../components/admin/filters.tsx";
import { Moment } from "../../../components/admin/moment.tsx";
import { DataTable } from "../../../components/admin/table.tsx";
import { Field } from "../../../components/field.tsx";
import { formatDuration } from "../../../format.ts";
import { rowOf } from "../../../shown.ts";
import { adminPage } from "../admin-page.tsx";
import { area, trailOf } from "./shared.tsx";

const toolNames = Object.fromEntries(tools.map(({ name }) => [name, name]));

export const agentCalls = adminPage({
  area,
  path: "/:id/calls",
  query: agentAuditQuery,
  read: ({ params: { id }, query }) => [listAgents(), agentAudit(id, query), listAgentKeys(id)],
  view: ([agents, calls, keys], { visit, words, params, query }) => {
    const ends = new Map(keys.map(({ id, last_four }) => [id, `…${last_four}`]));
    const last = calls.length === query.limit ? calls.at(-1) : undefined;
    return {
      title: words.calls,
      trail: trailOf(visit, rowOf(agents, params.id)),
      content: (
        <>
          <p class="quiet lead">{words.callsText}</p>
          <Filters submit={words.filter} class="filter">
            <Field name="tool" label={words.tool} options={{ "": words.all, ...toolNames }} />
            <Field name="outcome" label={words.outcome} placeholder={words.outcomeHint} autocomplete="off" />
          </Filters>
          <DataTable
            id="calls"
            caption={words.calls}
            columns={[
              { label: words.tool, cell: ({ tool }) => <code>{tool}</code> },
              {
                label: words.outcome,
                cell: ({ outcome }) => (
                  <span class={`status ${outcome === "ok" ? "delivered" : "failed"}`}>{outcome}</span>
                ),
              },
              {
                label: words.argumentNames,
                cell: ({ argument_names }) => <span class="quiet">{argument_names.join(", ")}</span>,
              },
              {
                label: words.duration,
                isNumber: true,
                cell: ({ duration_ms }) => formatDuration(duration_ms / 1000, visit.locale, "short"),
              },
              { label: words.key, cell: ({ key_id }) => <code>{ends.get(key_id) ?? ""}</code> },
              { label: words.time, cell: ({ created_at }) => <Moment at={created_at} /> },
            ]}
            rows={calls}
            empty={<p>{words.noCalls}</p>}
            next={last ? String(last.id) : null}
            cursor="before"
          />
        </>
      ),
    };
  },
});

import { z } from "zod";
import { agentAuditQuery } from "../../../../../shared/agents.ts";
import { agentAudit, listAgentKeys, listAgents } from "../../../../_shared/statements/agents.ts";
import { tools } from "../../../../mcp/registry.ts";
import { Log } from "../../../components/admin/log.tsx";
import { Moment } from "../../../components/admin/moment.tsx";
import { formatDuration } from "../../../format.ts";
import { withoutEmpty } from "../../../page.tsx";
import { hrefWith } from "../../../paths.ts";
import { rowOf } from "../../../shown.ts";
import { adminPage } from "../admin-page.tsx";
import { area, trailOf } from "./shared.tsx";

export const agentCalls = adminPage({
  area,
  path: "/:id/calls",
  query: z.preprocess(withoutEmpty, agentAuditQuery),
  read: ({ params: { id }, query }) => [listAgents(), agentAudit(id, query), listAgentKeys(id)],
  view: ([agents, calls, keys], { visit, words, params, query }) => {
    const shown = rowOf(agents, params.id);
    const ends = new Map(keys.map(({ id, last_four }) => [id, `…${last_four}`]));
    const last = calls.length === query.limit ? calls.at(-1) : undefined;
    return {
      title: words.calls,
      trail: trailOf(visit, shown),
      content: (
        <Log
          id="calls"
          title={words.calls}
          text={words.callsText}
          filters={{
            tool: { label: words.tool, options: ["", words.all, tools.map(({ name }) => [name, name])] },
            outcome: { label: words.outcome, placeholder: words.outcomeHint },
          }}
          submit={words.filter}
          columns={[
            { key: "tool", label: words.tool, cell: ({ tool }) => <code>{tool}</code> },
          ]}
          rows={calls}
          rowId={({ id }) => String(id)}
          empty={<p>{words.noCalls}</p>}
        />
      ),
    };
  },
});

import { listAgents } from "../../../../_shared/statements/agents.ts";
import { Created } from "../../../components/admin/created.tsx";
import { DataTable } from "../../../components/admin/table.tsx";
import { Icon } from "../../../components/icon.tsx";
import { adminPage } from "../admin-page.tsx";
import { type Agent, area, baseOf, pathOf, words } from "./shared.tsx";
import { State } from "./state.tsx";

export const agents = adminPage({
  area,
  words,
  call: () => [listAgents()],
  view: ([[list]], { visit, words }) => ({
    title: words.title,
    actions: (
      <a class="button main" href={`${baseOf(visit)}/new`}>
        <Icon name="plus" />
        {words.create}
      </a>
    ),
    content: (
      <>
        <p class="quiet lead">{words.text}</p>
        <DataTable
          id="agents"
          caption={words.title}
          columns={[
            {
              key: "name",
              label: words.name,
              cell: ({ id, name, description }) => (
                <div>
                  <a class="link" href={pathOf(visit, id)}>
                    {name}
                  </a>
                  {description && <p class="quiet small">{description}</p>}
                </div>
              ),
            },
            { key: "tier", label: words.tier, cell: ({ tier }) => words.tiers[tier] },
            { key: "state", label: words.state, cell: (one) => <State of={one} words={words} /> },
            {
              key: "created",
              label: words.created,
              cell: (one) => <Created of={one} visit={visit} />,
            },
          ]}
          rows={JSON.parse(list?.data ?? "[]") as Agent[]}
          rowId={({ id }) => id}
          empty={<p>{words.empty}</p>}
          visit={visit}
        />
      </>
    ),
  }),
});

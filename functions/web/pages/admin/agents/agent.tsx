import type { AgentPolicies } from "../../../../../shared/agents.ts";
import { agentPolicies, listAgentKeys, listAgents } from "../../../../_shared/statements/agents.ts";
import { Created } from "../../../components/admin/created.tsx";
import { type Key, Keys } from "../../../components/admin/keys.tsx";
import { Secret } from "../../../components/admin/secret.tsx";
import { Icon } from "../../../components/icon.tsx";
import { apiKeysMessages } from "../../../messages/admin/index.ts";
import { adminPage } from "../admin-page.tsx";
import { Connect } from "./connect.tsx";
import { Policies } from "./policies.tsx";
import { agentNamed, area, pathOf, words } from "./shared.tsx";
import { State } from "./state.tsx";

export const agent = adminPage({
  area,
  path: "/:id",
  words,
  call: ({ params: { id } }) => [listAgents(), agentPolicies(id, null), listAgentKeys(id)],
  view: ([list, [policies], [keys]], { visit, words, params }) => {
    const shown = agentNamed(list, params.id);
    const path = pathOf(visit, shown.id);
    const made = visit.answered && (JSON.parse(visit.answered).data as { secret: string | null });
    const secret = made ? made.secret : undefined;
    return {
      title: shown.name,
      trail: [],
      content: (
        <>
          {secret !== undefined && (
            <Secret id="secret" label={apiKeysMessages(visit.locale).secret} secret={secret} visit={visit} />
          )}
          <section class="card stack">
            <dl class="properties">
              <dt>{words.state}</dt>
              <dd>
                <State of={shown} words={words} />
              </dd>
              <dt>{words.tier}</dt>
              <dd>{words.tiers[shown.tier]}</dd>
              {shown.description && (
                <>
                  <dt>{words.description}</dt>
                  <dd>{shown.description}</dd>
                </>
              )}
              <dt>{words.created}</dt>
              <dd>
                <Created of={shown} visit={visit} />
              </dd>
            </dl>
            <div class="buttons">
              <a class="button" href={`${path}/calls`}>
                <Icon name="history" />
                {words.calls}
              </a>
              {!shown.retired_at && (
                <>
                  <a class="button" href={`${path}/edit`}>
                    {words.edit}
                  </a>
                  <a class="button danger" href={`${path}/retire`}>
                    {words.retire}
                  </a>
                </>
              )}
            </div>
          </section>
          <section class="stack">
            <div class="section-head">
              <h2>{words.keys}</h2>
              {!shown.retired_at && (
                <a class="button" href={`${path}/keys/new`}>
                  <Icon name="plus" />
                  {apiKeysMessages(visit.locale).create}
                </a>
              )}
            </div>
            <Keys keys={JSON.parse(keys?.data ?? "[]") as Key[]} base={`${path}/keys`} visit={visit} />
          </section>
          <section class="card stack">
            <div class="section-head">
              <h2>{words.policies}</h2>
              {!shown.retired_at && (
                <a
                  class="button small"
                  href={`${path}/policies`}
                  aria-label={`${words.edit}: ${words.policies}`}
                >
                  {words.edit}
                </a>
              )}
            </div>
            <Policies of={JSON.parse(policies?.data ?? "{}") as AgentPolicies} visit={visit} words={words} />
          </section>
          {!shown.retired_at && <Connect secret={secret ?? undefined} visit={visit} words={words} />}
        </>
      ),
    };
  },
});

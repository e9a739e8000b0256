import { agentTiers } from "../../../../../shared/agents.ts";
import { listAgents } from "../../../../_shared/statements/agents.ts";
import { Cancel } from "../../../components/admin/cancel.tsx";
import { Confirm } from "../../../components/admin/confirm.tsx";
import { Field, Problem } from "../../../components/field.tsx";
import { FormId } from "../../../components/form-id.tsx";
import type { AgentsMessages } from "../../../messages/admin/index.ts";
import type { Visit } from "../../../visit.ts";
import { adminPage } from "../admin-page.tsx";
import { type Agent, agentNamed, area, baseOf, pathOf, trailOf, words } from "./shared.tsx";

const AgentFields = ({
  of,
  visit,
  words,
}: {
  of?: Agent | undefined;
  visit: Visit;
  words: AgentsMessages;
}) => (
  <>
    <Field
      name="name"
      label={words.name}
      hint={words.nameHint}
      value={of?.name}
      required
      maxlength={100}
      autocomplete="off"
      visit={visit}
    />
    <Field
      name="tier"
      label={words.tier}
      hint={words.tierHint}
      value={of?.tier ?? "standard"}
      options={agentTiers.map((value) => ({ value, label: words.tiers[value] }))}
      visit={visit}
    />
    <Field
      name="description"
      label={words.description}
      hint={words.descriptionHint}
      value={of?.description ?? ""}
      rows={3}
      maxlength={500}
      visit={visit}
    />
  </>
);

export const newAgent = adminPage({
  area,
  path: "/new",
  words,
  call: () => [],
  view: (_rows, { visit, words }) => ({
    title: words.newTitle,
    trail: [],
    content: (
      <form method="post" action={baseOf(visit)} class="card settings-form">
        <Problem visit={visit} />
        <FormId />
        <AgentFields visit={visit} words={words} />
        <div class="buttons">
          <button type="submit" class="button main">
            {words.create}
          </button>
          <Cancel href={baseOf(visit)} visit={visit} />
        </div>
      </form>
    ),
  }),
});

export const editAgent = adminPage({
  area,
  path: "/:id/edit",
  words,
  call: () => [listAgents()],
  view: ([list], { visit, words, params }) => {
    const shown = agentNamed(list, params.id);
    const path = pathOf(visit, shown.id);
    return {
      title: words.edit,
      trail: trailOf(visit, shown),
      content: (
        <form method="post" action={path} class="card settings-form">
          <Problem visit={visit} />
          <input type="hidden" name="_method" value="patch" />
          <AgentFields of={shown} visit={visit} words={words} />
          <div class="buttons">
            <button type="submit" class="button main">
              {words.save}
            </button>
            <Cancel href={path} visit={visit} />
          </div>
        </form>
      ),
    };
  },
});

export const retireAgent = adminPage({
  area,
  path: "/:id/retire",
  words,
  call: () => [listAgents()],
  view: ([list], { visit, words, params }) => {
    const shown = agentNamed(list, params.id);
    const path = pathOf(visit, shown.id);
    return {
      title: words.retireTitle,
      trail: trailOf(visit, shown),
      content: (
        <Confirm
          text={words.retireText(shown.name)}
          lost={[words.retireLost]}
          action={path}
          fields={[["_method", "delete"]]}
          submit={words.retire}
          back={path}
          visit={visit}
        />
      ),
    };
  },
});

import { agentTiers } from "../../../../../shared/agents.ts";
import { listAgents } from "../../../../_shared/statements/agents.ts";
import { Cancel } from "../../../components/admin/cancel.tsx";
import { Confirm } from "../../../components/admin/confirm.tsx";
import { Field, Problem } from "../../../components/field.tsx";
import { FormId } from "../../../components/form-id.tsx";
import { useWords } from "../../../rendering.ts";
import { adminPage } from "../admin-page.tsx";
import { type Agent, agentNamed, area, baseOf, pathOf, trailOf } from "./shared.tsx";

const AgentFields = ({ of }: { of?: Agent | undefined }) => {
  const words = useWords("agents");
  return (
    <>
      <Field
        name="name"
        label={words.name}
        hint={words.nameHint}
        value={of?.name}
        required
        maxlength={100}
        autocomplete="off"
      />
      <Field
        name="tier"
        label={words.tier}
        hint={words.tierHint}
        value={of?.tier ?? "standard"}
        options={agentTiers.map((value) => ({ value, label: words.tiers[value] }))}
      />
      <Field
        name="description"
        label={words.description}
        hint={words.descriptionHint}
        value={of?.description ?? ""}
        rows={3}
        maxlength={500}
      />
    </>
  );
};

export const newAgent = adminPage({
  area,
  path: "/new",
  call: () => [],
  view: (_rows, { visit, words }) => ({
    title: words.newTitle,
    trail: [],
    content: (
      <form method="post" action={baseOf(visit)} class="card settings-form">
        <Problem />
        <FormId />
        <AgentFields />
        <div class="buttons">
          <button type="submit" class="button main">
            {words.create}
          </button>
          <Cancel href={baseOf(visit)} />
        </div>
      </form>
    ),
  }),
});

export const editAgent = adminPage({
  area,
  path: "/:id/edit",
  call: () => [listAgents()],
  view: ([list], { visit, words, params }) => {
    const shown = agentNamed(list, params.id);
    const path = pathOf(visit, shown.id);
    return {
      title: words.edit,
      trail: trailOf(visit, shown),
      content: (
        <form method="post" action={path} class="card settings-form">
          <Problem />
          <input type="hidden" name="_method" value="patch" />
          <AgentFields of={shown} />
          <div class="buttons">
            <button type="submit" class="button main">
              {words.save}
            </button>
            <Cancel href={path} />
          </div>
        </form>
      ),
    };
  },
});

export const retireAgent = adminPage({
  area,
  path: "/:id/retire",
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
        />
      ),
    };
  },
});

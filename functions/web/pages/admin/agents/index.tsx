import { type Agent, agentPolicies, listAgentKeys, listAgents } from "../../../../_shared/statements/agents.ts";
import { Created } from "../../../components/admin/created.tsx";
import { Keys } from "../../../components/admin/keys.tsx";
import { Properties } from "../../../components/admin/properties.tsx";
import { MadeSecret, secretIn } from "../../../components/admin/secret.tsx";
import { DataTable } from "../../../components/admin/table.tsx";
import { Button } from "../../../components/button.tsx";
import { Field } from "../../../components/field.tsx";
import { Form } from "../../../components/form.tsx";
import { useWords } from "../../../rendering.ts";
import { rowOf } from "../../../shown.ts";
import { adminPage } from "../admin-page.tsx";
import { keyPages } from "../api-keys.tsx";
import { agentCalls } from "./calls.tsx";
import { Connect } from "./connect.tsx";
import { agentPoliciesPage, Policies } from "./policies.tsx";
import { area, baseOf, ofApi, pathOf, trailOf } from "./shared.tsx";

const State = ({ of }: { of: Agent }) => {
  const words = useWords("agents");
  return (
    <span class={`status ${of.retired_at ? "declined" : "completed"}`}>
      {of.retired_at ? words.retired : words.active}
    </span>
  );
};

const agents = adminPage({
  area,
  read: () => [listAgents()],
  view: ([rows], { visit, words }) => ({
    title: words.title,
    actions: <Button kind="main" icon="plus" href={`${baseOf(visit)}/new`} label={words.create} />,
    content: (
      <>
        <p class="quiet lead">{words.text}</p>
        <DataTable
          id="agents"
          caption={words.title}
          columns={[
            {
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
            { label: words.tier, cell: ({ tier }) => words.tiers[tier] },
            { label: words.state, cell: (one) => <State of={one} /> },
            { label: words.created, cell: (one) => <Created of={one} /> },
          ]}
          rows={rows}
          rowId={({ id }) => id}
          empty={<p>{words.empty}</p>}
        />
      </>
    ),
  }),
});

const AgentFields = () => {
  const words = useWords("agents");
  return (
    <>
      <Field name="name" label={words.name} hint={words.nameHint} autocomplete="off" />
      <Field name="tier" label={words.tier} hint={words.tierHint} options={words.tiers} />
      <Field name="description" label={words.description} hint={words.descriptionHint} rows={3} />
    </>
  );
};

const newAgent = adminPage({
  area,
  path: "/new",
  view: (_none, { visit, words }) => ({
    title: words.newTitle,
    trail: [],
    content: (
      <Form isOnce submit={words.create} back={baseOf(visit)}>
        <AgentFields />
      </Form>
    ),
  }),
  actions: [
    {
      of: ofApi("post", ""),
      path: "",
      done: "created",
      next: ({ json }, { visit }) => pathOf(visit, JSON.parse(json).data.id),
    },
  ],
});

const agent = adminPage({
  area,
  path: "/:id",
  read: ({ params: { id } }) => [listAgents(), agentPolicies(id, null), listAgentKeys(id)],
  view: ([rows, policies, keys], { visit, words, params }) => {
    const shown = rowOf(rows, params.id);
    const path = pathOf(visit, shown.id);
    const { apiKeys } = visit.messages.admin;
    return {
      title: shown.name,
      trail: [],
      content: (
        <>
          <MadeSecret label={apiKeys.secret} />
          <section class="card stack">
            <Properties
              of={[
                [words.state, <State of={shown} />],
                [words.tier, words.tiers[shown.tier]],
                [words.description, shown.description],
                [words.created, <Created of={shown} />],
              ]}
            />
            <div class="buttons">
              <Button icon="history" href={`${path}/calls`} label={words.calls} />
              {!shown.retired_at && (
                <>
                  <Button href={`${path}/edit`} label={words.edit} />
                  <Button kind="danger" href={`${path}/retire`} label={words.retire} />
                </>
              )}
            </div>
          </section>
          <section class="stack">
            <div class="heading">
              <h2>{words.keys}</h2>
              {!shown.retired_at && <Button icon="plus" href={`${path}/keys/new`} label={apiKeys.create} />}
            </div>
            <Keys keys={keys} base={`${path}/keys`} />
          </section>
          <section class="card stack">
            <div class="heading">
              <h2>{words.policies}</h2>
              {!shown.retired_at && (
                <Button kind="small" href={`${path}/policies`} label={words.edit} of={words.policies} />
              )}
            </div>
            <Policies of={policies} />
          </section>
          {!shown.retired_at && <Connect secret={secretIn(visit) ?? undefined} />}
        </>
      ),
    };
  },
});

const editAgent = adminPage({
  area,
  path: "/:id/edit",
  read: () => [listAgents()],
  view: ([rows], { visit, words, params }) => {
    const shown = rowOf(rows, params.id);
    return {
      title: words.edit,
      trail: trailOf(visit, shown),
      content: (
        <Form values={shown} submit={words.save} back={pathOf(visit, shown.id)}>
          <AgentFields />
        </Form>
      ),
    };
  },
  actions: [{ of: ofApi("patch", "/:id"), path: "/:id", done: "saved", next: "/:id" }],
});

const retireAgent = adminPage({
  area,
  path: "/:id/retire",
  read: () => [listAgents()],
  view: ([rows], { visit, words, params }) => {
    const shown = rowOf(rows, params.id);
    return {
      title: words.retireTitle,
      trail: trailOf(visit, shown),
      confirm: { text: words.retireText(shown.name), lost: [words.retireLost], submit: words.retire },
    };
  },
  actions: [{ of: ofApi("delete", "/:id"), path: "/:id", done: "retired" }],
});

export const agentPages = [
  agents,
  newAgent,
  agent,
  editAgent,
  retireAgent,
  agentPoliciesPage,
  agentCalls,
  ...keyPages(area, agent),
];

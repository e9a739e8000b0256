import { type AgentPolicies, agentPoliciesUpdate } from "../../../../../shared/agents.ts";
import { valueOfForm } from "../../../../_shared/http/form.ts";
import { agentPolicies, listAgents } from "../../../../_shared/statements/agents.ts";
import { listSurveys } from "../../../../_shared/statements/surveys.ts";
import { listKept } from "../../../../_shared/statements/taxonomy.ts";
import { tools } from "../../../../mcp/registry.ts";
import { Cancel } from "../../../components/admin/cancel.tsx";
import { Field, Problem } from "../../../components/field.tsx";
import { formatNumber } from "../../../format.ts";
import type { AgentsMessages } from "../../../messages/admin/index.ts";
import type { Visit } from "../../../visit.ts";
import { adminPage } from "../admin-page.tsx";
import { agentNamed, area, pathOf, trailOf, words } from "./shared.tsx";

export const Policies = ({
  of,
  visit,
  words,
}: {
  of: AgentPolicies;
  visit: Visit;
  words: AgentsMessages;
}) => {
  const yes = (is: boolean) => (is ? words.yes : words.no);
  const listed = (list: readonly unknown[] | null) =>
    list === null ? words.all : words.onlyCount(list.length);
  return (
    <dl class="properties">
      <dt>{words.readOnly}</dt>
      <dd>{yes(of.read_only)}</dd>
      <dt>{words.confirm}</dt>
      <dd>{yes(of.confirm_destructive)}</dd>
      <dt>{words.callsADay}</dt>
      <dd>{of.calls_a_day === null ? words.noLimit : formatNumber(of.calls_a_day, visit.locale)}</dd>
      <dt>{words.tools}</dt>
      <dd>
        {of.tools === null ? (
          words.all
        ) : (
          <ul class="tags">
            {of.tools.map((name) => (
              <li class="tag">{name}</li>
            ))}
          </ul>
        )}
      </dd>
      <dt>{words.categories}</dt>
      <dd>{listed(of.category_ids)}</dd>
      <dt>{words.surveys}</dt>
      <dd>{listed(of.survey_ids)}</dd>
    </dl>
  );
};

const narrowed = ["tools", "category_ids", "survey_ids"] as const;
type Narrowed = (typeof narrowed)[number];

export const agentPoliciesPage = adminPage({
  area,
  path: "/:id/policies",
  words,
  call: ({ params: { id } }) => [
    listAgents(),
    agentPolicies(id, null),
    listKept("categories"),
    listSurveys({ page: 1, limit: 100 }),
  ],
  view: ([list, [kept], [categories], [surveys]], { visit, words, params }) => {
    const shown = agentNamed(list, params.id);
    const path = pathOf(visit, shown.id);
    const policies = JSON.parse(kept?.data ?? "{}") as AgentPolicies;
    const typed = visit.refused?.typed;
    const isChecked = (name: "read_only" | "confirm_destructive") =>
      typed ? typed.getAll(name).at(-1) === "true" : policies[name];
    const named = JSON.parse(categories?.data ?? "[]") as { id: string; name: string }[];
    const titled = JSON.parse(surveys?.data ?? "[]") as { id: string; title: string }[];
    return {
      title: words.policies,
      trail: trailOf(visit, shown),
      content: (
        <form method="post" action={`${path}/policies`} class="card settings-form">
          <p class="quiet">{words.policiesText}</p>
          <Problem visit={visit} />
          <input type="hidden" name="_method" value="put" />
          {(["read_only", "confirm_destructive"] as const).map((name) => (
            <label class="check">
              <input type="checkbox" name={name} value="true" checked={isChecked(name)} />
              {name === "read_only" ? words.readOnly : words.confirm}
            </label>
          ))}
          <Field
            name="calls_a_day"
            label={words.callsADay}
            hint={words.callsHint}
            value={policies.calls_a_day === null ? "" : String(policies.calls_a_day)}
            autocomplete="off"
            visit={visit}
          />
          <Narrow
            name="tools"
            legend={words.tools}
            kept={policies.tools}
            choices={tools.map(({ name, title }) => ({ value: name, label: `${name}: ${title}` }))}
            visit={visit}
            words={words}
          />
          <Narrow
            name="category_ids"
            legend={words.categories}
            kept={policies.category_ids}
            choices={named.map(({ id, name }) => ({ value: id, label: name }))}
            visit={visit}
            words={words}
          />
          <Narrow
            name="survey_ids"
            legend={words.surveys}
            kept={policies.survey_ids}
            choices={titled.map(({ id, title }) => ({ value: id, label: title }))}
            visit={visit}
            words={words}
          />
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

type NarrowProps = {
  name: Narrowed;
  legend: string;
  /** Null for all. */
  kept: readonly string[] | null;
  choices: { value: string; label: string }[];
  visit: Visit;
  words: AgentsMessages;
};

/** Allows all values of a kind, or only the selected ones; without a selection none. */
const Narrow = ({ name, legend, kept, choices, visit, words }: NarrowProps) => {
  const typed = visit.refused?.typed;
  const isOnly = typed ? typed.get(`${name}_of`) === "only" : kept !== null;
  const chosen = typed ? typed.getAll(name) : (kept ?? []);
  const problem = visit.refused?.details.find(({ field }) => field.split(".")[0] === name)?.message;
  const known = new Set(choices.map(({ value }) => value));
  // Keep selected values that are not listed, such as an older survey.
  const others = chosen.filter((value) => !known.has(value)).map((value) => ({ value, label: value }));
  return (
    <fieldset class="choices" aria-describedby={problem ? `${name}-problem` : undefined}>
      <legend>{legend}</legend>
      {problem && (
        <p class="problem" id={`${name}-problem`}>
          {legend}: {problem}
        </p>
      )}
      {(["all", "only"] as const).map((of) => (
        <label class="check">
          <input type="radio" name={`${name}_of`} value={of} checked={isOnly === (of === "only")} />
          {words[of]}
        </label>
      ))}
      <div class="narrowed">
        {[...choices, ...others].map(({ value, label }) => (
          <label class="check">
            <input type="checkbox" name={name} value={value} checked={chosen.includes(value)} />
            <span>{label}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
};

export function policiesOf(form: URLSearchParams): object {
  const lists = narrowed.map((name) => [
    name,
    form.get(`${name}_of`) === "only" ? form.getAll(name).filter(Boolean) : null,
  ]);
  return { ...(valueOfForm(agentPoliciesUpdate, form) as object), ...Object.fromEntries(lists) };
}

/** The API's query, without empty filters. */

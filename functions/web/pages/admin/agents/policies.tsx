import { type AgentPolicies, agentPoliciesUpdate } from "../../../../../shared/agents.ts";
import { valueOfForm } from "../../../../_shared/http/form.ts";
import { agentPolicies, listAgents } from "../../../../_shared/statements/agents.ts";
import { listSurveys } from "../../../../_shared/statements/surveys.ts";
import { listKept } from "../../../../_shared/statements/taxonomy.ts";
import { tools } from "../../../../mcp/registry.ts";
import { Properties } from "../../../components/admin/properties.tsx";
import { Tags } from "../../../components/admin/tags.tsx";
import { Field } from "../../../components/field.tsx";
import { Form } from "../../../components/form.tsx";
import { useForm, valueIn } from "../../../components/form-state.ts";
import { formatNumber } from "../../../format.ts";
import { useVisit, useWords } from "../../../rendering.ts";
import { rowOf } from "../../../shown.ts";
import { adminPage } from "../admin-page.tsx";
import { area, ofApi, pathOf, trailOf } from "./shared.tsx";

export const Policies = ({ of }: { of: AgentPolicies }) => {
  const words = useWords("agents");
  const visit = useVisit();
  const yes = (is: boolean) => (is ? words.yes : words.no);
  const listed = (list: readonly unknown[] | null) => (list === null ? words.all : words.onlyCount(list.length));
  return (
    <Properties
      of={[
        [words.readOnly, yes(of.read_only)],
        [words.confirm, yes(of.confirm_destructive)],
        [words.callsADay, of.calls_a_day === null ? words.noLimit : formatNumber(of.calls_a_day, visit.locale)],
        [words.tools, of.tools === null ? words.all : <Tags of={of.tools} />],
        [words.categories, listed(of.category_ids)],
        [words.surveys, listed(of.survey_ids)],
      ]}
    />
  );
};

const narrowed = ["tools", "category_ids", "survey_ids"] as const;

export const agentPoliciesPage = adminPage({
  area,
  path: "/:id/policies",
  read: ({ params: { id } }) => [
    listAgents(),
    agentPolicies(id, null),
    listKept("categories"),
    listSurveys({ page: 1, limit: 100 }),
  ],
  view: ([agents, policies, categories, surveys], { visit, words, params }) => {
    const shown = rowOf(agents, params.id);
    const toolOptions = tools.map(({ name, title }) => ({ value: name, label: `${name}: ${title}` }));
    return {
      title: words.policies,
      trail: trailOf(visit, shown),
      content: (
        <Form values={policies} submit={words.save} back={pathOf(visit, shown.id)}>
          <p class="quiet">{words.policiesText}</p>
          <Field name="read_only" label={words.readOnly} />
          <Field name="confirm_destructive" label={words.confirm} />
          <Field name="calls_a_day" label={words.callsADay} hint={words.callsHint} autocomplete="off" />
          <Narrow name="tools" legend={words.tools} choices={toolOptions} />
          <Narrow
            name="category_ids"
            legend={words.categories}
            choices={categories.map(({ id, name }) => ({ value: id, label: name }))}
          />
          <Narrow
            name="survey_ids"
            legend={words.surveys}
            choices={surveys.data.map(({ id, title }) => ({ value: id, label: title }))}
          />
        </Form>
      ),
    };
  },
  actions: [
    {
      of: ofApi("put", "/:id/policies"),
      readForm: (form) => ({
        ...(valueOfForm(agentPoliciesUpdate, form) as object),
        ...Object.fromEntries(
          narrowed.map((name) => [name, form.get(`${name}_of`) === "only" ? form.getAll(name).filter(Boolean) : null]),
        ),
      }),
      done: "policies",
      next: "/:id",
    },
  ],
});

type NarrowProps = { name: (typeof narrowed)[number]; legend: string; choices: { value: string; label: string }[] };

/** Allows all values of a kind, for which the field is null, or only the selected ones; without a selection none. */
const Narrow = ({ name, legend, choices }: NarrowProps) => {
  const words = useWords("agents");
  const { refused, values } = useForm(useVisit());
  const kept = valueIn(values, name) as readonly string[] | null;
  const isOnly = refused ? refused.typed.get(`${name}_of`) === "only" : kept !== null;
  const chosen = refused?.typed.getAll(name) ?? kept ?? [];
  const problem = refused?.details.find(({ field }) => field.split(".")[0] === name)?.message;
  const known = new Set(choices.map(({ value }) => value));
  // Keep selected values that are not listed, such as an older survey.
  const others = chosen.filter((value) => !known.has(value)).map((value) => ({ value, label: value }));
  return (
    <fieldset class="choices" aria-describedby={problem ? `${name}-problem` : undefined}>
      <legend>{legend}</legend>
      {problem && (
        <p class="problem" id={`${name}-problem`}>
          {`${legend}${words.colon}${problem}`}
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

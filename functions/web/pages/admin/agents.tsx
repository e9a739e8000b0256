import { z } from "zod";
import {
  type AgentPolicies,
  type agentAuditAnswer,
  agentAuditQuery,
  type agentListAnswer,
  agentPoliciesUpdate,
  agentTiers,
} from "../../../../shared/agents.ts";
import { notFound } from "../../../_shared/api-error.ts";
import { environment } from "../../../_shared/environment.ts";
import { valueOfForm } from "../../../_shared/form.ts";
import { agentAudit, agentPolicies, listAgentKeys, listAgents } from "../../../_shared/statements/agents.ts";
import { listSurveys } from "../../../_shared/statements/surveys.ts";
import { listKept } from "../../../_shared/statements/taxonomy.ts";
import { agents as endpoints } from "../../../api/routes/agents.ts";
import { tools } from "../../../mcp/registry.ts";
import { adminAction, adminPage } from "../../admin-page.tsx";
import { Cancel } from "../../components/admin/cancel.tsx";
import { CodeBlock } from "../../components/admin/code-block.tsx";
import { Confirm } from "../../components/admin/confirm.tsx";
import { type Key, KeyForm, Keys, keyNamed, RevokeKey, RotateKey } from "../../components/admin/keys.tsx";
import { Moment } from "../../components/admin/moment.tsx";
import { Secret } from "../../components/admin/secret.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Day } from "../../components/day.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { FormId } from "../../components/form-id.tsx";
import { Icon } from "../../components/icon.tsx";
import { formatNumber } from "../../format.ts";
import type { AgentsMessages } from "../../messages/admin/agents/en.ts";
import { agentsMessages } from "../../messages/admin/agents/index.ts";
import { apiKeysMessages } from "../../messages/admin/api-keys/index.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath, hrefWith } from "../../paths.ts";
import type { Visit } from "../../visit.ts";

type Agent = z.output<typeof agentListAnswer>["data"][number];
type Call = z.output<typeof agentAuditAnswer>["data"][number];
type Rows = readonly { data: string }[];

const area = "agents";
const words = agentsMessages;
const baseOf = (visit: Visit) => adminPath(visit, "/settings/agents");
const pathOf = (visit: Visit, id: string) => `${baseOf(visit)}/${id}`;

function agentNamed([list]: Rows, id: string): Agent {
  const found = (JSON.parse(list?.data ?? "[]") as Agent[]).find((one) => one.id === id.toLowerCase());
  if (!found) throw notFound("agent");
  return found;
}

/** The page of an agent, between the area and those about it. */
const trailOf = (visit: Visit, { id, name }: Agent) => [{ label: name, href: pathOf(visit, id) }];

const State = ({ of, words }: { of: Agent; words: AgentsMessages }) => (
  <span class={`status ${of.retired_at ? "declined" : "completed"}`}>
    {of.retired_at ? words.retired : words.active}
  </span>
);

const agents = adminPage({
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
              cell: ({ created_at }) => <Day at={created_at} locale={visit.locale} />,
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

const newAgent = adminPage({
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

const agent = adminPage({
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
                <Day at={shown.created_at} locale={visit.locale} />
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

const Policies = ({ of, visit, words }: { of: AgentPolicies; visit: Visit; words: AgentsMessages }) => {
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

type ConnectProps = { secret: string | undefined; visit: Visit; words: AgentsMessages };

/** Configurations of common clients, with the new key or a placeholder. */
const Connect = ({ secret, visit, words }: ConnectProps) => (
  <section class="stack" id="connect" data-turbo-temporary={secret ? "" : undefined}>
    <h2>{words.connect}</h2>
    <p class="quiet">{secret ? words.connectNow : words.connectText}</p>
    {configurations(`${environment.supabaseUrl}/api/mcp`, secret ?? "YOUR_KEY").map(
      ({ id, client, file, text }, index) => (
        <details class="client" id={`client-${id}`} open={index === 0}>
          <summary>{client}</summary>
          <CodeBlock id={`client-${id}-text`} label={file} text={text} visit={visit} />
        </details>
      ),
    )}
  </section>
);

function configurations(
  url: string,
  key: string,
): { id: string; client: string; file: string; text: string }[] {
  const headers = { Authorization: `Bearer ${key}` };
  const json = (value: object) => JSON.stringify(value, null, 2);
  return [
    {
      id: "claude-code",
      client: "Claude Code",
      file: "shell",
      text: `claude mcp add --transport http feedback ${url} --header "Authorization: Bearer ${key}"`,
    },
    {
      id: "claude-desktop",
      client: "Claude Desktop",
      file: "claude_desktop_config.json",
      text: json({
        mcpServers: {
          feedback: {
            command: "npx",
            // The client fills in the variable: a header with a space does not survive its shell on Windows.
            args: ["-y", "mcp-remote", url, "--header", `Authorization:$\{AUTHORIZATION}`],
            env: { AUTHORIZATION: headers.Authorization },
          },
        },
      }),
    },
    {
      id: "cursor",
      client: "Cursor",
      file: ".cursor/mcp.json",
      text: json({ mcpServers: { feedback: { url, headers } } }),
    },
    {
      id: "vscode",
      client: "VS Code",
      file: ".vscode/mcp.json",
      text: json({ servers: { feedback: { type: "http", url, headers } } }),
    },
    {
      id: "codex",
      client: "Codex",
      file: "~/.codex/config.toml",
      text: `[mcp_servers.feedback]\nurl = "${url}"\nhttp_headers = { Authorization = "Bearer ${key}" }`,
    },
    {
      id: "gemini",
      client: "Gemini CLI",
      file: "~/.gemini/settings.json",
      text: json({ mcpServers: { feedback: { httpUrl: url, headers } } }),
    },
  ];
}

const editAgent = adminPage({
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

const retireAgent = adminPage({
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

const narrowed = ["tools", "category_ids", "survey_ids"] as const;
type Narrowed = (typeof narrowed)[number];

const agentPoliciesPage = adminPage({
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

function policiesOf(form: URLSearchParams): object {
  const lists = narrowed.map((name) => [
    name,
    form.get(`${name}_of`) === "only" ? form.getAll(name).filter(Boolean) : null,
  ]);
  return { ...(valueOfForm(agentPoliciesUpdate, form) as object), ...Object.fromEntries(lists) };
}

/** The API's query, without empty filters. */
const callsQuery = z.preprocess(
  (sent) => Object.fromEntries(Object.entries(sent as object).filter(([, value]) => value !== "")),
  agentAuditQuery,
);

const agentCalls = adminPage({
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

const newAgentKey = adminPage({
  area,
  path: "/:id/keys/new",
  words,
  call: () => [listAgents()],
  view: ([list], { visit, words, params }) => {
    const shown = agentNamed(list, params.id);
    const path = pathOf(visit, shown.id);
    return {
      title: words.newKeyTitle,
      trail: trailOf(visit, shown),
      content: <KeyForm action={`${path}/keys`} back={path} visit={visit} />,
    };
  },
});

const rotateAgentKey = adminPage({
  area,
  path: "/:id/keys/:key_id/rotate",
  words,
  call: ({ params: { id } }) => [listAgents(), listAgentKeys(id)],
  view: ([list, [keys]], { visit, params }) => {
    const shown = agentNamed(list, params.id);
    const key = keyNamed(keys?.data, params.key_id);
    if (!key) throw notFound("key");
    const path = pathOf(visit, shown.id);
    return {
      title: apiKeysMessages(visit.locale).rotateTitle,
      trail: trailOf(visit, shown),
      content: <RotateKey of={key} base={`${path}/keys`} back={path} visit={visit} />,
    };
  },
});

const revokeAgentKey = adminPage({
  area,
  path: "/:id/keys/:key_id/revoke",
  words,
  call: ({ params: { id } }) => [listAgents(), listAgentKeys(id)],
  view: ([list, [keys]], { visit, params }) => {
    const shown = agentNamed(list, params.id);
    const key = keyNamed(keys?.data, params.key_id);
    if (!key) throw notFound("key");
    const path = pathOf(visit, shown.id);
    return {
      title: apiKeysMessages(visit.locale).revokeTitle,
      trail: trailOf(visit, shown),
      content: <RevokeKey of={key} base={`${path}/keys`} back={path} visit={visit} />,
    };
  },
});

type At = { visit: Visit; params: Record<string, string> };
const ofApi = (method: "post" | "patch" | "put" | "delete", path: string) =>
  endpointOf(endpoints, method, `/admin/agents${path}`);
const toAgent = (_response: unknown, { visit, params: { id = "" } }: At) => pathOf(visit, id);

export const agentPages = [
  agents,
  newAgent,
  agent,
  editAgent,
  retireAgent,
  agentPoliciesPage,
  agentCalls,
  newAgentKey,
  rotateAgentKey,
  revokeAgentKey,
  adminAction(ofApi("post", ""), {
    area,
    formPage: newAgent,
    doneMessage: "created",
    redirectTo: ({ json }, { visit }) => pathOf(visit, JSON.parse(json).data.id),
  }),
  adminAction(ofApi("patch", "/:id"), {
    area,
    path: "/:id",
    formPage: editAgent,
    doneMessage: "saved",
    redirectTo: toAgent,
  }),
  adminAction(ofApi("delete", "/:id"), { area, path: "/:id", formPage: retireAgent, doneMessage: "retired" }),
  adminAction(ofApi("put", "/:id/policies"), {
    area,
    path: "/:id/policies",
    formPage: agentPoliciesPage,
    readForm: policiesOf,
    doneMessage: "policies",
    redirectTo: toAgent,
  }),
  adminAction(ofApi("post", "/:id/keys"), {
    area,
    path: "/:id/keys",
    formPage: newAgentKey,
    resultPage: agent,
  }),
  adminAction(ofApi("post", "/:id/keys/:key_id/rotate"), {
    area,
    path: "/:id/keys/:key_id/rotate",
    formPage: rotateAgentKey,
    resultPage: agent,
  }),
  adminAction(ofApi("delete", "/:id/keys/:key_id"), {
    area,
    path: "/:id/keys/:key_id",
    formPage: agent,
    doneMessage: "revoked",
    redirectTo: toAgent,
  }),
];

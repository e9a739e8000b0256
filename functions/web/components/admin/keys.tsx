import { scopes } from "../../../../shared/scopes.ts";
import type { ApiKey } from "../../../_shared/statements/admin.ts";
import { formatDay, formatNumber, localTime, momentOf } from "../../format.ts";
import { useTimeZone, useVisit, useWords } from "../../rendering.ts";
import { Day } from "../day.tsx";
import { Field } from "../field.tsx";
import { Form } from "../form.tsx";
import { Icon } from "../icon.tsx";
import { Choices } from "./choices.tsx";
import { Created } from "./created.tsx";
import { type Column, DataTable } from "./table.tsx";
import { Tags } from "./tags.tsx";

const dayMs = 86_400_000;
const maxAgeDays = 90;

const isInForce = ({ revoked_at, expires_at }: ApiKey) =>
  !revoked_at && (!expires_at || Date.parse(expires_at) > Date.now());

/** Whether to warn about the key's age: not if it expires within a week. */
const isOld = ({ created_at, expires_at }: ApiKey) =>
  Date.now() - Date.parse(created_at) > maxAgeDays * dayMs &&
  (!expires_at || Date.parse(expires_at) - Date.now() > 7 * dayMs);

type Props = { keys: ApiKey[]; base: string };

/** Keys in force with a warning for old ones, and those that ended. `base` leads to their pages. */
export const Keys = ({ keys, base }: Props) => {
  const words = useWords("apiKeys");
  const current = keys.filter(isInForce);
  const ended = keys.filter((key) => !isInForce(key));
  const old = current.filter(isOld).length;
  const shared: Column<ApiKey>[] = [
    {
      label: words.key,
      cell: (key) => (
        <div class="key-name">
          <strong>{key.name}</strong>
          <code class="code">
            {key.prefix}…{key.last_four}
          </code>
        </div>
      ),
    },
    {
      label: words.scopes,
      cell: ({ scopes: granted }) =>
        granted.length === 0 ? <span class="quiet">{words.noScopes}</span> : <Tags of={granted} />,
    },
    {
      label: words.lastUse,
      cell: ({ last_used_at }) =>
        last_used_at ? <Day at={last_used_at} /> : <span class="quiet">{words.unused}</span>,
    },
  ];
  const columns: Column<ApiKey>[] = [
    ...shared,
    {
      label: words.created,
      cell: (key) => (
        <div>
          <Created of={key} />
          {isOld(key) && (
            <div class="warning with-icon">
              <Icon name="triangle-alert" />
              {words.old}
            </div>
          )}
        </div>
      ),
    },
    {
      label: words.expires,
      cell: ({ expires_at }) => (expires_at ? <Day at={expires_at} /> : <span class="quiet">{words.never}</span>),
    },
    {
      label: words.actions,
      hasQuietLabel: true,
      cell: ({ id, name }) => (
        <div class="row-actions">
          {(["rotate", "revoke"] as const).map((what) => (
            <a
              class={what === "revoke" ? "button small danger" : "button small"}
              href={`${base}/${id}/${what}`}
              aria-label={`${words[what]}${words.colon}${name}`}
            >
              {words[what]}
            </a>
          ))}
        </div>
      ),
    },
  ];
  const endedColumns: Column<ApiKey>[] = [
    ...shared,
    {
      label: words.end,
      cell: ({ revoked_at, expires_at }) => (
        <div>
          {revoked_at ? words.revoked : words.expired}
          {" · "}
          <Day at={revoked_at ?? expires_at ?? ""} />
        </div>
      ),
    },
  ];
  return (
    <>
      {old > 0 && (
        <p class="notice warning with-icon" role="status">
          <Icon name="triangle-alert" />
          <span>{words.oldText(old)}</span>
        </p>
      )}
      <DataTable id="keys" caption={words.title} columns={columns} rows={current} empty={<p>{words.empty}</p>} />
      {ended.length > 0 && (
        <details id="ended-keys" class="ended">
          <summary class="quiet">
            {words.ended + words.colon}
            {formatNumber(ended.length, useVisit().locale)}
          </summary>
          <DataTable id="ended" caption={words.ended} columns={endedColumns} rows={ended} empty="" />
        </details>
      )}
    </>
  );
};

/**
 * The form that creates a key. Expiry options last until the end of a day, so that a repeated form sends the same
 * value.
 */
export const KeyForm = ({ back }: { back: string }) => {
  const visit = useVisit();
  const words = useWords("apiKeys");
  const timeZone = useTimeZone();
  const expiries = [30, maxAgeDays, 365].map((days) => {
    const day = localTime(new Date(Date.now() + days * dayMs), timeZone).slice(0, 10);
    const end = new Date(momentOf(`${day}T23:59:59`, timeZone));
    return { value: end.toISOString(), label: words.inDays(days, formatDay(end, visit.locale, timeZone)) };
  });
  return (
    <Form submit={words.create} back={back}>
      <Field name="name" label={words.name} hint={words.nameHint} required autocomplete="off" />
      <Choices
        name="scopes"
        legend={words.scopes}
        hint={words.scopesHint}
        choices={scopes.map((value) => ({ value, text: words.scopeTexts[value] }))}
      />
      <Field
        name="expires_at"
        label={words.expires}
        value={expiries[1]?.value}
        options={[...expiries, { value: "", label: words.never }]}
      />
    </Form>
  );
};

/** The time for which the previous secret stays valid. */
export const OverlapField = ({ label }: { label: string }) => {
  const { none, hour, day, week } = useWords("apiKeys").overlaps;
  return (
    <Field
      name="overlap_seconds"
      label={label}
      value="86400"
      options={{ 0: none, 3600: hour, 86400: day, 604800: week }}
    />
  );
};

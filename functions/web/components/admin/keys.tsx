import type { z } from "zod";
import type { apiKeyListAnswer } from "../../../../shared/admin.ts";
import { scopes } from "../../../../shared/scopes.ts";
import { formatDay } from "../../format.ts";
import { useVisit } from "../../rendering.ts";
import { Day } from "../day.tsx";
import { Field, Problem } from "../field.tsx";
import { FormId } from "../form-id.tsx";
import { Icon } from "../icon.tsx";
import { Cancel } from "./cancel.tsx";
import { Choices } from "./choices.tsx";
import { Confirm } from "./confirm.tsx";
import { Created } from "./created.tsx";
import { type Column, DataTable } from "./table.tsx";

export type Key = z.output<typeof apiKeyListAnswer>["data"][number];

const dayMs = 86_400_000;
const maxAgeDays = 90;

const isInForce = ({ revoked_at, expires_at }: Key) =>
  !revoked_at && (!expires_at || Date.parse(expires_at) > Date.now());

/** Whether to warn about the key's age: not if it expires within a week. */
const isOld = ({ created_at, expires_at }: Key) =>
  Date.now() - Date.parse(created_at) > maxAgeDays * dayMs &&
  (!expires_at || Date.parse(expires_at) - Date.now() > 7 * dayMs);

/** The key of a page about one; undefined where the list has none. */
export const keyNamed = (list: string | null | undefined, id: string): Key | undefined =>
  (JSON.parse(list ?? "[]") as Key[]).find((key) => key.id === id.toLowerCase());

type Props = { keys: Key[]; base: string };

/** Keys in force with a warning for old ones, and those that ended. `base` leads to their pages. */
export const Keys = ({ keys, base }: Props) => {
  const visit = useVisit();
  const words = visit.messages.admin.apiKeys;
  const current = keys.filter(isInForce);
  const ended = keys.filter((key) => !isInForce(key));
  const old = current.filter(isOld).length;
  const shared: Column<Key>[] = [
    {
      key: "name",
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
      key: "scopes",
      label: words.scopes,
      cell: ({ scopes: granted }) =>
        granted.length === 0 ? (
          <span class="quiet">{words.noScopes}</span>
        ) : (
          <ul class="tags">
            {granted.map((scope) => (
              <li class="tag">{scope}</li>
            ))}
          </ul>
        ),
    },
    {
      key: "last",
      label: words.lastUse,
      cell: ({ last_used_at }) =>
        last_used_at ? (
          <Day at={last_used_at} locale={visit.locale} />
        ) : (
          <span class="quiet">{words.unused}</span>
        ),
    },
  ];
  const columns: Column<Key>[] = [
    ...shared,
    {
      key: "created",
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
      key: "expires",
      label: words.expires,
      cell: ({ expires_at }) =>
        expires_at ? <Day at={expires_at} locale={visit.locale} /> : <span class="quiet">{words.never}</span>,
    },
    {
      key: "actions",
      label: words.actions,
      hasQuietLabel: true,
      cell: ({ id, name }) => (
        <div class="row-actions">
          <a class="button small" href={`${base}/${id}/rotate`} aria-label={`${words.rotate}: ${name}`}>
            {words.rotate}
          </a>
          <a
            class="button small danger"
            href={`${base}/${id}/revoke`}
            aria-label={`${words.revoke}: ${name}`}
          >
            {words.revoke}
          </a>
        </div>
      ),
    },
  ];
  const endedColumns: Column<Key>[] = [
    ...shared,
    {
      key: "end",
      label: words.end,
      cell: ({ revoked_at, expires_at }) => (
        <div>
          {revoked_at ? words.revoked : words.expired}
          {", "}
          <Day at={revoked_at ?? expires_at ?? ""} locale={visit.locale} />
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
      <DataTable
        id="keys"
        caption={words.title}
        columns={columns}
        rows={current}
        rowId={({ id }) => id}
        empty={<p>{words.empty}</p>}
      />
      {ended.length > 0 && (
        <details id="ended-keys" class="ended">
          <summary class="quiet">
            {words.ended}: {ended.length}
          </summary>
          <DataTable
            id="ended"
            caption={words.ended}
            columns={endedColumns}
            rows={ended}
            rowId={({ id }) => id}
            empty=""
          />
        </details>
      )}
    </>
  );
};

/** The form that makes a key. Its options end with their day, so that the form posted again asks for the same. */
export const KeyForm = ({ action, back }: { action: string; back: string }) => {
  const visit = useVisit();
  const words = visit.messages.admin.apiKeys;
  const endOf = (days: number) =>
    `${new Date(Date.now() + days * dayMs).toISOString().slice(0, 10)}T23:59:59Z`;
  const expiries = [30, maxAgeDays, 365].map((days) => ({
    value: endOf(days),
    label: words.inDays(days, formatDay(new Date(endOf(days)), visit.locale)),
  }));
  return (
    <form method="post" action={action} class="card settings-form" data-turbo="false">
      <Problem />
      <FormId />
      <Field
        name="name"
        label={words.name}
        hint={words.nameHint}
        required
        maxlength={100}
        autocomplete="off"
      />
      <Choices
        name="scopes"
        legend={words.scopes}
        hint={words.scopesHint}
        choices={scopes.map((scope) => ({ value: scope, text: words.scopeTexts[scope] }))}
      />
      <Field
        name="expires_at"
        label={words.expires}
        value={expiries[1]?.value}
        options={[...expiries, { value: "", label: words.never }]}
      />
      <div class="buttons">
        <button type="submit" class="button main">
          {words.create}
        </button>
        <Cancel href={back} />
      </div>
    </form>
  );
};

type OverlapWords = { overlap: string };

/** The time for which the previous secret stays valid. */
export const OverlapField = ({ overlap }: OverlapWords) => {
  const visit = useVisit();
  const { overlaps } = visit.messages.admin.apiKeys;
  return (
    <Field
      name="overlap_seconds"
      label={overlap}
      value="86400"
      options={[
        { value: "0", label: overlaps.none },
        { value: "3600", label: overlaps.hour },
        { value: "86400", label: overlaps.day },
        { value: "604800", label: overlaps.week },
      ]}
    />
  );
};

type OneKeyProps = { of: Key; base: string; back: string };

export const RotateKey = ({ of, base, back }: OneKeyProps) => {
  const visit = useVisit();
  const words = visit.messages.admin.apiKeys;
  return (
    <Confirm
      text={words.rotateText(of.name)}
      action={`${base}/${of.id}/rotate`}
      submit={words.rotate}
      back={back}
      makesSecret
    >
      <OverlapField overlap={words.overlap} />
    </Confirm>
  );
};

export const RevokeKey = ({ of, base, back }: OneKeyProps) => {
  const visit = useVisit();
  const words = visit.messages.admin.apiKeys;
  return (
    <Confirm
      text={words.revokeText(of.name)}
      lost={[words.revokeLost]}
      action={`${base}/${of.id}`}
      fields={[["_method", "delete"]]}
      submit={words.revoke}
      back={back}
    />
  );
};

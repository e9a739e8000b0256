import type { z } from "zod";
import { eventNames } from "../../../../shared/events.ts";
import type {
  deliveryDetailAnswer,
  deliveryListAnswer,
  webhookListAnswer,
} from "../../../../shared/webhooks.ts";
import { notFound } from "../../../_shared/http/api-error.ts";
import {
  listDeliveries,
  listWebhooks,
  showDelivery,
  showWebhook,
} from "../../../_shared/statements/webhooks.ts";
import { webhooks as endpoints } from "../../../endpoints/webhooks.ts";
import { Cancel } from "../../components/admin/cancel.tsx";
import { Choices } from "../../components/admin/choices.tsx";
import { CodeBlock } from "../../components/admin/code-block.tsx";
import { Confirm } from "../../components/admin/confirm.tsx";
import { Created } from "../../components/admin/created.tsx";
import { OverlapField } from "../../components/admin/keys.tsx";
import { formatMoment, Moment } from "../../components/admin/moment.tsx";
import { Secret } from "../../components/admin/secret.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { FormId } from "../../components/form-id.tsx";
import { Icon } from "../../components/icon.tsx";
import { formatNumber } from "../../format.ts";
import { type WebhooksMessages, webhooksMessages } from "../../messages/admin/index.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

type Webhook = z.output<typeof webhookListAnswer>["data"][number];
type Delivery = z.output<typeof deliveryListAnswer>["data"][number];
type DeliveryDetail = z.output<typeof deliveryDetailAnswer>["data"];
type Rows = readonly { data: string | null }[];

const area = "webhooks";
const words = webhooksMessages;
const baseOf = (visit: Visit) => adminPath(visit, "/settings/webhooks");
const pathOf = (visit: Visit, { id }: { id: string }) => `${baseOf(visit)}/${id}`;

function parsed<Shape>([row]: Rows, what: string): Shape {
  if (!row?.data) throw notFound(what);
  return JSON.parse(row.data) as Shape;
}

/** Undefined where the form gave the secret: nothing is shown then. */
const secretIn = (visit: Visit) =>
  visit.answered ? (JSON.parse(visit.answered).data.secret as string | null | undefined) : undefined;

const MadeSecret = ({ visit, words }: { visit: Visit; words: WebhooksMessages }) => {
  const secret = secretIn(visit);
  return secret === undefined ? null : (
    <Secret id="secret" label={words.secretTitle} secret={secret} visit={visit} />
  );
};

const State = ({ of, words }: { of: Webhook; words: WebhooksMessages }) => (
  <span class={`status ${of.enabled ? "completed" : of.disabled_reason === "gone" ? "failed" : "declined"}`}>
    {of.enabled ? words.active : of.disabled_reason === "gone" ? words.gone : words.paused}
  </span>
);

/** The organization, which the API has in its path. */
const OfOrganization = ({ id }: { id: string }) => <input type="hidden" name="organization_id" value={id} />;

const webhooks = adminPage({
  area,
  words,
  call: () => [listWebhooks()],
  view: ([rows], { visit, words }) => ({
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
        <MadeSecret visit={visit} words={words} />
        <DataTable
          id="webhooks"
          caption={words.title}
          columns={[
            {
              key: "url",
              label: words.url,
              cell: (one) => (
                <a class="link" href={pathOf(visit, one)}>
                  {one.url}
                </a>
              ),
            },
            {
              key: "events",
              label: words.events,
              isNumber: true,
              cell: ({ events }) => formatNumber(events.length, visit.locale),
            },
            { key: "state", label: words.state, cell: (one) => <State of={one} words={words} /> },
            {
              key: "created",
              label: words.created,
              cell: (one) => <Created of={one} visit={visit} />,
            },
          ]}
          rows={parsed<Webhook[]>(rows, "webhook")}
          rowId={({ id }) => id}
          empty={<p>{words.empty}</p>}
          visit={visit}
        />
      </>
    ),
  }),
});

const WebhookFields = ({
  of,
  visit,
  words,
}: {
  of?: Webhook | undefined;
  visit: Visit;
  words: WebhooksMessages;
}) => {
  // An alias that the API subscribed to stays.
  const names = [...new Set<string>([...eventNames, ...(of?.events ?? [])])];
  const texts: Record<string, string> = words.eventTexts;
  return (
    <>
      <Field
        name="url"
        type="url"
        label={words.url}
        hint={words.urlHint}
        value={of?.url}
        required
        maxlength={2000}
        placeholder="https://hooks.example.org/feedback"
        visit={visit}
      />
      <Choices
        name="events"
        legend={words.events}
        choices={names.map((value) => ({ value, text: texts[value] }))}
        chosen={of?.events}
        visit={visit}
      />
    </>
  );
};

const SecretField = ({ visit, words }: { visit: Visit; words: WebhooksMessages }) => (
  <Field
    name="secret"
    type="password"
    label={words.secret}
    hint={words.secretHint}
    minlength={8}
    maxlength={256}
    autocomplete="off"
    visit={visit}
  />
);

const newWebhook = adminPage({
  area,
  path: "/new",
  words,
  call: () => [],
  view: (_rows, { visit, words, admin }) => ({
    title: words.newTitle,
    trail: [],
    content: (
      <form method="post" action={baseOf(visit)} class="card settings-form" data-turbo="false">
        <Problem visit={visit} />
        <FormId />
        <OfOrganization id={admin.organization_id} />
        <WebhookFields visit={visit} words={words} />
        <SecretField visit={visit} words={words} />
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

/** The newest deliveries that are kept. */
const logged = { page: 1, limit: 100 };

const webhook = adminPage({
  area,
  path: "/:webhook_id",
  words,
  call: ({ params }) => [
    showWebhook({ webhook_id: params.webhook_id }),
    listDeliveries({ webhook_id: params.webhook_id }, logged),
  ],
  view: ([rows, [log]], { visit, words, admin }) => {
    const shown = parsed<Webhook>(rows, "webhook");
    const deliveries = JSON.parse(log?.data ?? "[]") as Delivery[];
    const path = pathOf(visit, shown);
    return {
      title: shown.url,
      trail: [],
      content: (
        <>
          <Problem visit={visit} />
          <MadeSecret visit={visit} words={words} />
          <section class="card stack">
            <dl class="properties">
              <dt>{words.state}</dt>
              <dd>
                <State of={shown} words={words} />
              </dd>
              <dt>{words.events}</dt>
              <dd>
                <ul class="tags">
                  {shown.events.map((name) => (
                    <li class="tag">{name}</li>
                  ))}
                </ul>
              </dd>
              <dt>{words.created}</dt>
              <dd>
                <Created of={shown} visit={visit} />
              </dd>
            </dl>
            {shown.previous_secret_expires_at && (
              <p class="quiet">
                {words.previousUntil(formatMoment(shown.previous_secret_expires_at, visit.locale))}
              </p>
            )}
            <div class="buttons">
              {shown.enabled && (
                <form method="post" action={`${path}/test`}>
                  <OfOrganization id={admin.organization_id} />
                  <button type="submit" class="button main">
                    <Icon name="send" />
                    {words.test}
                  </button>
                </form>
              )}
              <form method="post" action={path}>
                <OfOrganization id={admin.organization_id} />
                <input type="hidden" name="_method" value="patch" />
                <input type="hidden" name="enabled" value={String(!shown.enabled)} />
                <button
                  type="submit"
                  class="button"
                  aria-describedby={shown.enabled ? "pause-hint" : undefined}
                >
                  <Icon name={shown.enabled ? "pause" : "play"} />
                  {shown.enabled ? words.pause : words.resume}
                </button>
              </form>
              <a class="button" href={`${path}/edit`}>
                {words.edit}
              </a>
              <a class="button" href={`${path}/rotate`}>
                {words.rotate}
              </a>
              <a class="button danger" href={`${path}/delete`}>
                {words.remove}
              </a>
            </div>
            {shown.enabled && (
              <p class="quiet small" id="pause-hint">
                {words.pause}: {words.pauseHint}
              </p>
            )}
          </section>
          <section class="stack" id="deliveries">
            <div class="section-head">
              <h2>{words.deliveries}</h2>
              <span class="quiet small">
                {words.deliveriesText}{" "}
                <a class="link" href={path}>
                  {words.reload}
                </a>
              </span>
            </div>
            {deliveries.some(isUnderWay) && <div id="pending" data-island="pending" hidden />}
            <DataTable
              id="log"
              caption={words.deliveries}
              columns={[
                {
                  key: "event",
                  label: words.event,
                  cell: ({ id, event }) => (
                    <a class="link" href={`${path}/deliveries/${id}`}>
                      {event}
                    </a>
                  ),
                },
                {
                  key: "status",
                  label: words.status,
                  cell: (one) => <DeliveryStatus of={one} words={words} />,
                },
                {
                  key: "answer",
                  label: words.answer,
                  cell: (one) => <Answer of={one} words={words} />,
                },
                {
                  key: "duration",
                  label: words.duration,
                  isNumber: true,
                  cell: ({ duration_ms }) => <Duration ms={duration_ms} visit={visit} />,
                },
                {
                  key: "attempts",
                  label: words.attempts,
                  isNumber: true,
                  cell: ({ attempt_count }) => formatNumber(attempt_count, visit.locale),
                },
                {
                  key: "time",
                  label: words.time,
                  cell: ({ created_at }) => <Moment at={created_at} locale={visit.locale} />,
                },
              ]}
              rows={deliveries}
              rowId={({ id }) => id}
              empty={<p>{words.noDeliveries}</p>}
              visit={visit}
            />
          </section>
        </>
      ),
    };
  },
});

/** It is being sent, or is about to be. */
const isUnderWay = ({ status, next_attempt_at }: Delivery) =>
  status === "pending" && (!next_attempt_at || Date.parse(next_attempt_at) < Date.now() + 10_000);

const DeliveryStatus = ({ of, words }: { of: Delivery; words: WebhooksMessages }) => (
  <span class={`status ${of.status}`}>{words.statuses[of.status]}</span>
);

type Answered = Pick<Delivery, "status_code" | "error">;

const Answer = ({ of, words }: { of: Answered; words: WebhooksMessages }) => (
  <span>{of.status_code ?? (of.error ? words.noAnswer : "")}</span>
);

const Duration = ({ ms, visit }: { ms: number | null; visit: Visit }) => (
  <span>
    {ms !== null &&
      new Intl.NumberFormat(visit.locale, {
        style: "unit",
        unit: ms < 1000 ? "millisecond" : "second",
        maximumFractionDigits: 1,
      }).format(ms < 1000 ? ms : ms / 1000)}
  </span>
);

const delivery = adminPage({
  area,
  path: "/:webhook_id/deliveries/:event_id",
  words,
  call: ({ params: { webhook_id, event_id } }) => [
    showWebhook({ webhook_id }),
    showDelivery({ webhook_id, event_id }),
  ],
  view: ([rows, found], { visit, words, admin }) => {
    const shown = parsed<Webhook>(rows, "webhook");
    const sent = parsed<DeliveryDetail>(found, "delivery");
    const path = pathOf(visit, shown);
    return {
      title: sent.event,
      trail: [{ label: shown.url, href: path }],
      content: (
        <>
          <Problem visit={visit} />
          {isUnderWay(sent) && <div id="pending" data-island="pending" hidden />}
          <section class="card stack">
            <dl class="properties">
              <dt>{words.status}</dt>
              <dd>
                <DeliveryStatus of={sent} words={words} />
              </dd>
              <dt>{words.event}</dt>
              <dd>
                <code>{sent.id}</code>
              </dd>
              <dt>{words.time}</dt>
              <dd>
                <Moment at={sent.created_at} locale={visit.locale} />
              </dd>
              {sent.next_attempt_at && (
                <>
                  <dt>{words.nextAttempt}</dt>
                  <dd>
                    <Moment at={sent.next_attempt_at} locale={visit.locale} />
                  </dd>
                </>
              )}
            </dl>
            <form method="post" action={`${path}/deliveries/${sent.id}/redeliver`} class="buttons">
              <OfOrganization id={admin.organization_id} />
              <button type="submit" class="button main" disabled={!shown.enabled || sent.data === null}>
                <Icon name="refresh-cw" />
                {words.redeliver}
              </button>
            </form>
          </section>
          <section class="stack">
            <h2>{words.attempts}</h2>
            {sent.attempts.toReversed().map((one) => (
              <section class="card stack" id={`attempt-${one.number}`}>
                <h3>{words.attempt(one.number)}</h3>
                <dl class="properties">
                  <dt>{words.answer}</dt>
                  <dd>{one.status_code ?? `${words.noAnswer}${one.error ? `: ${one.error}` : ""}`}</dd>
                  {one.started_at && (
                    <>
                      <dt>{words.time}</dt>
                      <dd>
                        <Moment at={one.started_at} locale={visit.locale} />
                      </dd>
                    </>
                  )}
                  <dt>{words.duration}</dt>
                  <dd>
                    <Duration ms={one.duration_ms} visit={visit} />
                  </dd>
                </dl>
                {one.response_body ? (
                  <CodeBlock
                    id={`body-${one.number}`}
                    label={words.responseBody}
                    text={one.response_body}
                    visit={visit}
                  />
                ) : (
                  one.status_code !== null && <p class="quiet">{words.emptyBody}</p>
                )}
              </section>
            ))}
          </section>
          {sent.data === null ? (
            <p class="quiet">{words.dataGone}</p>
          ) : (
            <CodeBlock id="data" label={words.data} text={JSON.stringify(sent.data, null, 2)} visit={visit} />
          )}
        </>
      ),
    };
  },
});

const editWebhook = adminPage({
  area,
  path: "/:webhook_id/edit",
  words,
  call: ({ params: { webhook_id } }) => [showWebhook({ webhook_id })],
  view: ([rows], { visit, words, admin }) => {
    const shown = parsed<Webhook>(rows, "webhook");
    const path = pathOf(visit, shown);
    return {
      title: words.editTitle,
      trail: [{ label: shown.url, href: path }],
      content: (
        <form method="post" action={`${path}/edit`} class="card settings-form">
          <Problem visit={visit} />
          <OfOrganization id={admin.organization_id} />
          <input type="hidden" name="_method" value="patch" />
          <WebhookFields of={shown} visit={visit} words={words} />
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

const rotateWebhook = adminPage({
  area,
  path: "/:webhook_id/rotate",
  words,
  call: ({ params: { webhook_id } }) => [showWebhook({ webhook_id })],
  view: ([rows], { visit, words, admin }) => {
    const shown = parsed<Webhook>(rows, "webhook");
    const path = pathOf(visit, shown);
    return {
      title: words.rotate,
      trail: [{ label: shown.url, href: path }],
      content: (
        <Confirm
          text={words.rotateText}
          action={`${path}/rotate`}
          fields={[["organization_id", admin.organization_id]]}
          submit={words.rotate}
          back={path}
          makesSecret
          visit={visit}
        >
          <OverlapField overlap={words.overlap} visit={visit} />
          <SecretField visit={visit} words={words} />
        </Confirm>
      ),
    };
  },
});

const deleteWebhook = adminPage({
  area,
  path: "/:webhook_id/delete",
  words,
  call: ({ params: { webhook_id } }) => [showWebhook({ webhook_id })],
  view: ([rows], { visit, words, admin }) => {
    const shown = parsed<Webhook>(rows, "webhook");
    const path = pathOf(visit, shown);
    return {
      title: words.removeTitle,
      trail: [{ label: shown.url, href: path }],
      content: (
        <Confirm
          text={words.removeText(shown.url)}
          lost={[words.removeLost.log, words.removeLost.waiting]}
          action={path}
          fields={[
            ["organization_id", admin.organization_id],
            ["_method", "delete"],
          ]}
          submit={words.remove}
          back={path}
          visit={visit}
        />
      ),
    };
  },
});

const ofApi = (method: "post" | "patch" | "delete", path: string) =>
  endpointOf(endpoints, method, `/organizations/:id/webhooks${path}`);
const params = { id: "organization_id" };
const toWebhook = (_response: unknown, { visit, params: { webhook_id = "" } }: At) =>
  pathOf(visit, { id: webhook_id });
type At = { visit: Visit; params: Record<string, string> };

export const webhookPages = [
  webhooks,
  newWebhook,
  webhook,
  delivery,
  editWebhook,
  rotateWebhook,
  deleteWebhook,
  adminAction(ofApi("post", ""), { area, formPage: newWebhook, resultPage: webhooks, params }),
  adminAction(ofApi("patch", "/:webhook_id"), {
    area,
    path: "/:webhook_id/edit",
    formPage: editWebhook,
    params,
    doneMessage: "saved",
    redirectTo: toWebhook,
  }),
  adminAction(ofApi("patch", "/:webhook_id"), {
    area,
    path: "/:webhook_id",
    formPage: webhook,
    params,
    doneMessage: ({ json }) => ({ done: JSON.parse(json).data.enabled ? "resumed" : "paused" }),
    redirectTo: toWebhook,
  }),
  adminAction(ofApi("delete", "/:webhook_id"), {
    area,
    path: "/:webhook_id",
    formPage: deleteWebhook,
    params,
    doneMessage: "removed",
  }),
  adminAction(ofApi("post", "/:webhook_id/rotate"), {
    area,
    path: "/:webhook_id/rotate",
    formPage: rotateWebhook,
    resultPage: webhook,
    params,
  }),
  adminAction(ofApi("post", "/:webhook_id/test"), {
    area,
    path: "/:webhook_id/test",
    formPage: webhook,
    params,
    doneMessage: "tested",
    redirectTo: toWebhook,
  }),
  adminAction(ofApi("post", "/:webhook_id/deliveries/:event_id/redeliver"), {
    area,
    path: "/:webhook_id/deliveries/:event_id/redeliver",
    formPage: delivery,
    params,
    doneMessage: "redelivered",
    redirectTo: (_response, { visit, params: { webhook_id, event_id } }) =>
      `${baseOf(visit)}/${webhook_id}/deliveries/${event_id}`,
  }),
];

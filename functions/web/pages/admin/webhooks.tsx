import { eventNames } from "../../../../shared/events.ts";
import {
  type Delivery,
  listDeliveries,
  listWebhooks,
  showDelivery,
  showWebhook,
  type Webhook,
} from "../../../_shared/statements/webhooks.ts";
import { webhooks as endpoints } from "../../../endpoints/webhooks.ts";
import { Choices } from "../../components/admin/choices.tsx";
import { CodeBlock } from "../../components/admin/code-block.tsx";
import { Confirm } from "../../components/admin/confirm.tsx";
import { Created } from "../../components/admin/created.tsx";
import { OverlapField } from "../../components/admin/keys.tsx";
import { formatMoment, Moment } from "../../components/admin/moment.tsx";
import { Secret } from "../../components/admin/secret.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { formatNumber } from "../../format.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

const area = "webhooks";
const baseOf = (visit: Visit) => adminPath(visit, "/settings/webhooks");
const pathOf = (visit: Visit, { id }: { id: string }) => `${baseOf(visit)}/${id}`;

const ofApi = (method: "post" | "patch" | "delete", path: string) =>
  endpointOf(endpoints, method, `/organizations/:id/webhooks${path}`);
const change = ofApi("patch", "/:webhook_id");
const test = ofApi("post", "/:webhook_id/test");

/** Undefined where the form gave the secret: nothing is shown then. */
const secretIn = (visit: Visit) =>
  visit.answered ? (JSON.parse(visit.answered).data.secret as string | null | undefined) : undefined;

const MadeSecret = () => {
  const words = useWords("webhooks");
  const visit = useVisit();
  const secret = secretIn(visit);
  return secret === undefined ? null : <Secret id="secret" label={words.secretTitle} secret={secret} />;
};

const State = ({ of }: { of: Webhook }) => {
  const words = useWords("webhooks");
  return (
    <span
      class={`status ${of.enabled ? "completed" : of.disabled_reason === "gone" ? "failed" : "declined"}`}
    >
      {of.enabled ? words.active : of.disabled_reason === "gone" ? words.gone : words.paused}
    </span>
  );
};

const webhooks = adminPage({
  area,
  read: () => [listWebhooks()],
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
        <MadeSecret />
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
            { key: "state", label: words.state, cell: (one) => <State of={one} /> },
            {
              key: "created",
              label: words.created,
              cell: (one) => <Created of={one} />,
            },
          ]}
          rows={rows}
          rowId={({ id }) => id}
          empty={<p>{words.empty}</p>}
        />
      </>
    ),
  }),
});

const WebhookFields = ({ of }: { of?: Webhook }) => {
  const words = useWords("webhooks");
  // An alias that the API subscribed to stays.
  const names = [...new Set<string>([...eventNames, ...(of?.events ?? [])])];
  const texts: Record<string, string> = words.eventTexts;
  return (
    <>
      <Field
        name="url"
        label={words.url}
        hint={words.urlHint}
        placeholder="https://hooks.example.org/feedback"
      />
      <Choices
        name="events"
        legend={words.events}
        choices={names.map((value) => ({ value, text: texts[value] }))}
      />
    </>
  );
};

const SecretField = () => {
  const words = useWords("webhooks");
  return (
    <Field name="secret" type="password" label={words.secret} hint={words.secretHint} autocomplete="off" />
  );
};

const newWebhook = adminPage({
  area,
  path: "/new",
  view: (_none, { visit, words }) => ({
    title: words.newTitle,
    trail: [],
    content: (
      <Form submit={words.create} back={baseOf(visit)}>
        <WebhookFields />
        <SecretField />
      </Form>
    ),
  }),
  actions: [{ of: ofApi("post", ""), path: "", resultPage: webhooks }],
});

/** The newest deliveries that are kept. */
const logged = { page: 1, limit: 100 };

const webhook = adminPage({
  area,
  path: "/:webhook_id",
  read: ({ params: { webhook_id } }) => [showWebhook({ webhook_id }), listDeliveries({ webhook_id }, logged)],
  view: ([shown, { data: deliveries }], { visit, words }) => {
    const path = pathOf(visit, shown);
    return {
      title: shown.url,
      trail: [],
      content: (
        <>
          <Problem />
          <MadeSecret />
          <section class="card stack">
            <dl class="properties">
              <dt>{words.state}</dt>
              <dd>
                <State of={shown} />
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
                <Created of={shown} />
              </dd>
            </dl>
            {shown.previous_secret_expires_at && (
              <p class="quiet">
                {words.previousUntil(formatMoment(shown.previous_secret_expires_at, visit.locale))}
              </p>
            )}
            <div class="buttons">
              {shown.enabled && (
                <Form of={test} hasProblem={false}>
                  <button type="submit" class="button main">
                    <Icon name="send" />
                    {words.test}
                  </button>
                </Form>
              )}
              <Form of={change} hasProblem={false} hidden={{ enabled: String(!shown.enabled) }}>
                <button
                  type="submit"
                  class="button"
                  aria-describedby={shown.enabled ? "pause-hint" : undefined}
                >
                  <Icon name={shown.enabled ? "pause" : "play"} />
                  {shown.enabled ? words.pause : words.resume}
                </button>
              </Form>
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
                  cell: (one) => <DeliveryStatus of={one} />,
                },
                {
                  key: "answer",
                  label: words.answer,
                  cell: (one) => <Answer of={one} />,
                },
                {
                  key: "duration",
                  label: words.duration,
                  isNumber: true,
                  cell: ({ duration_ms }) => <Duration ms={duration_ms} />,
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
            />
          </section>
        </>
      ),
    };
  },
  actions: [
    {
      of: change,
      done: ({ json }) => ({ done: JSON.parse(json).data.enabled ? "resumed" : "paused" }),
      next: "/:webhook_id",
    },
    { of: test, path: "/:webhook_id/test", done: "tested", next: "/:webhook_id" },
  ],
});

/** It is being sent, or is about to be. */
const isUnderWay = ({ status, next_attempt_at }: Delivery) =>
  status === "pending" && (!next_attempt_at || Date.parse(next_attempt_at) < Date.now() + 10_000);

const DeliveryStatus = ({ of }: { of: Delivery }) => {
  const words = useWords("webhooks");
  return <span class={`status ${of.status}`}>{words.statuses[of.status]}</span>;
};

type Answered = Pick<Delivery, "status_code" | "error">;

const Answer = ({ of }: { of: Answered }) => {
  const words = useWords("webhooks");
  return <span>{of.status_code ?? (of.error ? words.noAnswer : "")}</span>;
};

const Duration = ({ ms }: { ms: number | null }) => {
  const visit = useVisit();
  return (
    <span>
      {ms !== null &&
        new Intl.NumberFormat(visit.locale, {
          style: "unit",
          unit: ms < 1000 ? "millisecond" : "second",
          maximumFractionDigits: 1,
        }).format(ms < 1000 ? ms : ms / 1000)}
    </span>
  );
};

const delivery = adminPage({
  area,
  path: "/:webhook_id/deliveries/:event_id",
  read: ({ params: { webhook_id, event_id } }) => [
    showWebhook({ webhook_id }),
    showDelivery({ webhook_id, event_id }),
  ],
  view: ([shown, sent], { visit, words }) => {
    const path = pathOf(visit, shown);
    return {
      title: sent.event,
      trail: [{ label: shown.url, href: path }],
      content: (
        <>
          <Problem />
          {isUnderWay(sent) && <div id="pending" data-island="pending" hidden />}
          <section class="card stack">
            <dl class="properties">
              <dt>{words.status}</dt>
              <dd>
                <DeliveryStatus of={sent} />
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
            <Form class="buttons" hasProblem={false}>
              <button type="submit" class="button main" disabled={!shown.enabled || sent.data === null}>
                <Icon name="refresh-cw" />
                {words.redeliver}
              </button>
            </Form>
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
                    <Duration ms={one.duration_ms} />
                  </dd>
                </dl>
                {one.response_body ? (
                  <CodeBlock id={`body-${one.number}`} label={words.responseBody} text={one.response_body} />
                ) : (
                  one.status_code !== null && <p class="quiet">{words.emptyBody}</p>
                )}
              </section>
            ))}
          </section>
          {sent.data === null ? (
            <p class="quiet">{words.dataGone}</p>
          ) : (
            <CodeBlock id="data" label={words.data} text={JSON.stringify(sent.data, null, 2)} />
          )}
        </>
      ),
    };
  },
  actions: [
    {
      of: ofApi("post", "/:webhook_id/deliveries/:event_id/redeliver"),
      path: "/:webhook_id/deliveries/:event_id/redeliver",
      done: "redelivered",
      next: "/:webhook_id/deliveries/:event_id",
    },
  ],
});

const editWebhook = adminPage({
  area,
  path: "/:webhook_id/edit",
  read: ({ params: { webhook_id } }) => [showWebhook({ webhook_id })],
  view: ([shown], { visit, words }) => {
    const path = pathOf(visit, shown);
    return {
      title: words.editTitle,
      trail: [{ label: shown.url, href: path }],
      content: (
        <Form values={shown} submit={words.save} back={path}>
          <WebhookFields of={shown} />
        </Form>
      ),
    };
  },
  actions: [{ of: change, done: "saved", next: "/:webhook_id" }],
});

const rotateWebhook = adminPage({
  area,
  path: "/:webhook_id/rotate",
  read: ({ params: { webhook_id } }) => [showWebhook({ webhook_id })],
  view: ([shown], { visit, words }) => {
    const path = pathOf(visit, shown);
    return {
      title: words.rotate,
      trail: [{ label: shown.url, href: path }],
      content: (
        <Confirm text={words.rotateText} submit={words.rotate} back={path}>
          <OverlapField overlap={words.overlap} />
          <SecretField />
        </Confirm>
      ),
    };
  },
  actions: [{ of: ofApi("post", "/:webhook_id/rotate"), resultPage: webhook }],
});

const deleteWebhook = adminPage({
  area,
  path: "/:webhook_id/delete",
  read: ({ params: { webhook_id } }) => [showWebhook({ webhook_id })],
  view: ([shown], { visit, words }) => {
    const path = pathOf(visit, shown);
    return {
      title: words.removeTitle,
      trail: [{ label: shown.url, href: path }],
      content: (
        <Confirm
          text={words.removeText(shown.url)}
          lost={[words.removeLost.log, words.removeLost.waiting]}
          submit={words.remove}
          back={path}
        />
      ),
    };
  },
  actions: [{ of: ofApi("delete", "/:webhook_id"), path: "/:webhook_id", done: "removed" }],
});

export const webhookPages = [
  webhooks,
  newWebhook,
  webhook,
  delivery,
  editWebhook,
  rotateWebhook,
  deleteWebhook,
];

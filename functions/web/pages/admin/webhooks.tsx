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
import { Created } from "../../components/admin/created.tsx";
import { OverlapField } from "../../components/admin/keys.tsx";
import { Moment } from "../../components/admin/moment.tsx";
import { Properties } from "../../components/admin/properties.tsx";
import { MadeSecret } from "../../components/admin/secret.tsx";
import { DataTable, number } from "../../components/admin/table.tsx";
import { Tags } from "../../components/admin/tags.tsx";
import { Button } from "../../components/button.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { formatDuration, formatMoment, formatNumber } from "../../format.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { timeZoneOf, useVisit, useWords } from "../../rendering.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

const area = "webhooks";
const baseOf = (visit: Visit) => adminPath(visit, "/settings/webhooks");
const pathOf = (visit: Visit, { id }: { id: string }) => `${baseOf(visit)}/${id}`;

const ofApi = (method: "post" | "patch" | "delete", path: string) =>
  endpointOf(endpoints, method, `/organizations/:id/webhooks${path}`);
const change = ofApi("patch", "/:webhook_id");
const test = ofApi("post", "/:webhook_id/test");

const State = ({ of }: { of: Webhook }) => {
  const words = useWords("webhooks");
  return (
    <span class={`status ${of.enabled ? "completed" : of.disabled_reason === "gone" ? "failed" : "declined"}`}>
      {of.enabled ? words.active : of.disabled_reason === "gone" ? words.gone : words.paused}
    </span>
  );
};

const webhooks = adminPage({
  area,
  read: () => [listWebhooks()],
  view: ([rows], { visit, words }) => ({
    title: words.title,
    actions: <Button kind="main" icon="plus" href={`${baseOf(visit)}/new`} label={words.create} />,
    content: (
      <>
        <p class="quiet lead">{words.text}</p>
        <MadeSecret label={words.secretTitle} />
        <DataTable
          id="webhooks"
          caption={words.title}
          columns={[
            {
              label: words.url,
              cell: (one) => (
                <a class="link" href={pathOf(visit, one)}>
                  {one.url}
                </a>
              ),
            },
            { label: words.events, isNumber: true, cell: ({ events }) => formatNumber(events.length, visit.locale) },
            { label: words.state, cell: (one) => <State of={one} /> },
            { label: words.created, cell: (one) => <Created of={one} /> },
          ]}
          rows={rows}
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
      <Field name="url" label={words.url} hint={words.urlHint} placeholder="https://hooks.example.org/feedback" />
      <Choices name="events" legend={words.events} choices={names.map((value) => ({ value, text: texts[value] }))} />
    </>
  );
};

const SecretField = () => {
  const words = useWords("webhooks");
  return <Field name="secret" type="password" label={words.secret} hint={words.secretHint} autocomplete="off" />;
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
  view: ([shown, { data: deliveries }], { visit, words }, frame) => {
    const path = pathOf(visit, shown);
    return {
      title: shown.url,
      trail: [],
      content: (
        <>
          <Problem />
          <MadeSecret label={words.secretTitle} />
          <section class="card stack">
            <Properties
              of={[
                [words.state, <State of={shown} />],
                [words.events, <Tags of={shown.events} />],
                [words.created, <Created of={shown} />],
              ]}
            />
            {shown.previous_secret_expires_at && (
              <p class="quiet">
                {words.previousUntil(
                  formatMoment(new Date(shown.previous_secret_expires_at), visit.locale, timeZoneOf(frame)),
                )}
              </p>
            )}
            <div class="buttons">
              {shown.enabled && (
                <Form of={test} hasProblem={false}>
                  <Button kind="main" icon="send" label={words.test} />
                </Form>
              )}
              <Form of={change} hasProblem={false} hidden={{ enabled: String(!shown.enabled) }}>
                <Button aria-describedby={shown.enabled ? "pause-hint" : undefined}>
                  <Icon name={shown.enabled ? "pause" : "play"} />
                  {shown.enabled ? words.pause : words.resume}
                </Button>
              </Form>
              <Button href={`${path}/edit`} label={words.edit} />
              <Button href={`${path}/rotate`} label={words.rotate} />
              <Button kind="danger" href={`${path}/delete`} label={words.remove} />
            </div>
            {shown.enabled && (
              <p class="quiet small" id="pause-hint">
                {`${words.pause}${words.colon}${words.pauseHint}`}
              </p>
            )}
          </section>
          <section class="stack" id="deliveries">
            <div class="heading">
              <h2>{words.deliveries}</h2>
              <span class="quiet small">
                {words.deliveriesText(logged.limit)}{" "}
                <a class="link" href={path}>
                  {words.reload}
                </a>
              </span>
            </div>
            {deliveries.some(isUnderWay) && <div id="pending" data-island="follow" data-for="60" hidden />}
            <DataTable
              id="log"
              caption={words.deliveries}
              columns={[
                {
                  label: words.event,
                  cell: ({ id, event }) => (
                    <a class="link" href={`${path}/deliveries/${id}`}>
                      {event}
                    </a>
                  ),
                },
                { label: words.status, cell: (one) => <DeliveryStatus of={one} /> },
                { label: words.answer, cell: ({ status_code, error }) => status_code ?? (error ? words.noAnswer : "") },
                { label: words.duration, isNumber: true, cell: ({ duration_ms }) => <Duration ms={duration_ms} /> },
                number("attempt_count", words.attempts),
                { label: words.time, cell: ({ created_at }) => <Moment at={created_at} /> },
              ]}
              rows={deliveries}
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

const Duration = ({ ms }: { ms: number | null }) => {
  const visit = useVisit();
  return <span>{ms !== null && formatDuration(ms / 1000, visit.locale, "short")}</span>;
};

const delivery = adminPage({
  area,
  path: "/:webhook_id/deliveries/:event_id",
  read: ({ params: { webhook_id, event_id } }) => [showWebhook({ webhook_id }), showDelivery({ webhook_id, event_id })],
  view: ([shown, sent], { visit, words }) => {
    const path = pathOf(visit, shown);
    return {
      title: sent.event,
      trail: [{ label: shown.url, href: path }],
      content: (
        <>
          <Problem />
          {isUnderWay(sent) && <div id="pending" data-island="follow" data-for="60" hidden />}
          <section class="card stack">
            <Properties
              of={[
                [words.status, <DeliveryStatus of={sent} />],
                [words.event, <code>{sent.id}</code>],
                [words.time, <Moment at={sent.created_at} />],
                [words.nextAttempt, sent.next_attempt_at && <Moment at={sent.next_attempt_at} />],
              ]}
            />
            <Form class="buttons" hasProblem={false}>
              <Button
                kind="main"
                icon="refresh-cw"
                disabled={!shown.enabled || sent.data === null}
                label={words.redeliver}
              />
            </Form>
          </section>
          <section class="stack">
            <h2>{words.attempts}</h2>
            {sent.attempts.toReversed().map((one) => (
              <section class="card stack" id={`attempt-${one.number}`}>
                <h3>{words.attempt(one.number)}</h3>
                <Properties
                  of={[
                    [words.answer, one.status_code ?? [words.noAnswer, one.error].filter(Boolean).join(words.colon)],
                    [words.time, one.started_at && <Moment at={one.started_at} />],
                    [words.duration, <Duration ms={one.duration_ms} />],
                  ]}
                />
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
  view: ([shown], { visit, words }) => ({
    title: words.editTitle,
    trail: [{ label: shown.url, href: pathOf(visit, shown) }],
    content: (
      <Form values={shown} submit={words.save} back={pathOf(visit, shown)}>
        <WebhookFields of={shown} />
      </Form>
    ),
  }),
  actions: [{ of: change, done: "saved", next: "/:webhook_id" }],
});

const rotateWebhook = adminPage({
  area,
  path: "/:webhook_id/rotate",
  read: ({ params: { webhook_id } }) => [showWebhook({ webhook_id })],
  view: ([shown], { visit, words }) => ({
    title: words.rotate,
    trail: [{ label: shown.url, href: pathOf(visit, shown) }],
    confirm: {
      text: words.rotateText,
      submit: words.rotate,
      children: (
        <>
          <OverlapField label={words.overlap} />
          <SecretField />
        </>
      ),
    },
  }),
  actions: [{ of: ofApi("post", "/:webhook_id/rotate"), resultPage: webhook }],
});

const deleteWebhook = adminPage({
  area,
  path: "/:webhook_id/delete",
  read: ({ params: { webhook_id } }) => [showWebhook({ webhook_id })],
  view: ([shown], { visit, words }) => ({
    title: words.removeTitle,
    trail: [{ label: shown.url, href: pathOf(visit, shown) }],
    confirm: {
      text: words.removeText(shown.url),
      lost: [words.removeLost.log, words.removeLost.waiting],
      submit: words.remove,
    },
  }),
  actions: [{ of: ofApi("delete", "/:webhook_id"), path: "/:webhook_id", done: "removed" }],
});

export const webhookPages = [webhooks, newWebhook, webhook, delivery, editWebhook, rotateWebhook, deleteWebhook];

import type { z } from "zod";
import type { identifySecretListAnswer, TokenCheck } from "../../../../shared/identify.ts";
import { notFound } from "../../../_shared/http/api-error.ts";
import { listIdentifySecrets } from "../../../_shared/statements/identify.ts";
import { adminIdentify } from "../../../endpoints/identify.ts";
import { CodeBlock } from "../../components/admin/code-block.tsx";
import { Confirm } from "../../components/admin/confirm.tsx";
import { Created } from "../../components/admin/created.tsx";
import { Secret } from "../../components/admin/secret.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Day } from "../../components/day.tsx";
import { Field, forForm, Problem } from "../../components/field.tsx";
import { FormId } from "../../components/form-id.tsx";
import { Icon } from "../../components/icon.tsx";
import { type IdentifyMessages, identifyMessages } from "../../messages/admin/index.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";
import { identifyExamples } from "./identify-examples.ts";

const area = "identify";
const words = identifyMessages;
const baseOf = (visit: Visit) => adminPath(visit, "/settings/identify");
const ofApi = (method: "post" | "delete", path: string) =>
  endpointOf(adminIdentify, method, `/admin/identify-secrets${path}`);

type SigningSecret = z.output<typeof identifySecretListAnswer>["data"][number];
type Made = { secret: string | null };

const identify = adminPage({
  area,
  words,
  call: () => [listIdentifySecrets()],
  view: ([[list]], { visit, words }, { organization }) => {
    const secrets: SigningSecret[] = JSON.parse(list?.data ?? "[]");
    const answered = visit.answered && (JSON.parse(visit.answered).data as Made | TokenCheck);
    const made = answered && "secret" in answered ? answered : undefined;
    const check = answered && "valid" in answered ? answered : undefined;
    const audience = organization?.slug ?? "";
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet lead">{words.text}</p>
          {made && (
            <Secret
              id="secret"
              label={words.secret}
              secret={made.secret}
              gone={words.secretGone}
              visit={visit}
            />
          )}
          <section class="stack">
            <h2>{words.secrets}</h2>
            <p class="quiet">{words.secretsText}</p>
            <Secrets secrets={secrets} visit={visit} />
            {secrets.length < 2 && (
              <form method="post" action={baseOf(visit)} data-turbo="false">
                <Problem visit={forForm(visit, (typed) => !typed.has("token"))} />
                <FormId />
                <button type="submit" class="button main">
                  <Icon name="plus" />
                  {words.create}
                </button>
              </form>
            )}
          </section>
          <Tester check={check} visit={visit} words={words} />
          <section class="stack">
            <h2>{words.examples}</h2>
            <p class="quiet">{words.examplesText(audience)}</p>
            {identifyExamples(audience).map(({ name, code }, index) => (
              <details id={`example-${name.toLowerCase()}`} open={index === 0}>
                <summary class="link">{name}</summary>
                <CodeBlock id={`example-${name.toLowerCase()}-code`} label={name} text={code} visit={visit} />
              </details>
            ))}
          </section>
        </>
      ),
    };
  },
});

const Secrets = ({ secrets, visit }: { secrets: SigningSecret[]; visit: Visit }) => {
  const own = words(visit.locale);
  return (
    <DataTable
      id="secrets"
      caption={own.secrets}
      columns={[
        {
          key: "secret",
          label: own.secret,
          cell: ({ last_four }) => <code class="code">fcs_sig_…{last_four}</code>,
        },
        {
          key: "created",
          label: own.created,
          cell: (one) => <Created of={one} visit={visit} />,
        },
        {
          key: "last",
          label: own.lastUse,
          cell: ({ last_used_at }) =>
            last_used_at ? (
              <Day at={last_used_at} locale={visit.locale} />
            ) : (
              <span class="quiet">{own.unused}</span>
            ),
        },
        {
          key: "actions",
          label: own.actions,
          hasQuietLabel: true,
          cell: ({ id, last_four }) => (
            <div class="row-actions">
              <a
                class="button small danger"
                href={`${baseOf(visit)}/${id}/delete`}
                aria-label={`${own.remove}: …${last_four}`}
              >
                {own.remove}
              </a>
            </div>
          ),
        },
      ]}
      rows={secrets}
      rowId={({ id }) => id}
      empty={<p>{own.empty}</p>}
      visit={visit}
    />
  );
};

type TesterProps = { check: TokenCheck | undefined; visit: Visit; words: IdentifyMessages };

const Tester = ({ check, visit, words }: TesterProps) => {
  const own = forForm(visit, (typed) => typed.has("token"));
  return (
    <section class="stack" id="tester">
      <h2>{words.test}</h2>
      {check && (
        <div
          class={check.valid ? "notice done" : "notice problem"}
          id="checked"
          role="status"
          data-turbo-temporary
        >
          <p>
            <strong>{check.reason ? words.reasons[check.reason] : words.valid}</strong>
            {check.signed_with && ` ${words.signedWith(check.signed_with)}`}
          </p>
          {check.details.length > 0 && (
            <ul>
              {check.details.map(({ field, message }) => (
                <li>
                  <code>{field.replace("token.", "")}</code> {message}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      {check?.claims && (
        <div data-turbo-temporary>
          <CodeBlock
            id="claims"
            label={words.claims}
            text={JSON.stringify(check.claims, null, 2)}
            visit={visit}
          />
        </div>
      )}
      <form method="post" action={`${baseOf(visit)}/check`} class="card settings-form" data-turbo="false">
        <Problem visit={own} />
        <Field
          name="token"
          label={words.token}
          hint={words.tokenHint}
          rows={4}
          required
          maxlength={8000}
          autocomplete="off"
          visit={own}
        />
        <div class="buttons">
          <button type="submit" class="button">
            {words.check}
          </button>
        </div>
      </form>
    </section>
  );
};

const deleteSecret = adminPage({
  area,
  path: "/:id/delete",
  words,
  call: () => [listIdentifySecrets()],
  view: ([[list]], { visit, words, params }) => {
    const secret = (JSON.parse(list?.data ?? "[]") as SigningSecret[]).find(
      ({ id }) => id === params.id.toLowerCase(),
    );
    if (!secret) throw notFound("signing secret");
    return {
      title: words.removeTitle,
      trail: [],
      content: (
        <Confirm
          text={words.removeText(`…${secret.last_four}`)}
          lost={[words.removeSessions, words.removeTokens]}
          action={`${baseOf(visit)}/${secret.id}`}
          fields={[["_method", "delete"]]}
          submit={words.remove}
          back={baseOf(visit)}
          visit={visit}
        />
      ),
    };
  },
});

export const identifyPages = [
  identify,
  deleteSecret,
  adminAction(ofApi("post", ""), { area, formPage: identify, resultPage: identify }),
  adminAction(ofApi("post", "/check"), { area, path: "/check", formPage: identify, resultPage: identify }),
  adminAction(ofApi("delete", "/:id"), { area, path: "/:id", formPage: identify, doneMessage: "removed" }),
];

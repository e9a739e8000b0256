import type { identifySecretListAnswer, TokenCheck } from "../../../../shared/identify.ts";
import { listIdentifySecrets } from "../../../_shared/statements/identify.ts";
import type { DataOf } from "../../../_shared/statements/shapes.ts";
import { adminIdentify } from "../../../endpoints/identify.ts";
import { CodeBlock } from "../../components/admin/code-block.tsx";
import { Created } from "../../components/admin/created.tsx";
import { answerOf, MadeSecret } from "../../components/admin/secret.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Button } from "../../components/button.tsx";
import { Day } from "../../components/day.tsx";
import { Field } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { useVisit, useWords } from "../../rendering.ts";
import { rowOf } from "../../shown.ts";
import { adminPage } from "./admin-page.tsx";
import { identifyExamples } from "./identify-examples.ts";

const area = "identify";
const ofApi = (method: "post" | "delete", path: string) =>
  endpointOf(adminIdentify, method, `/admin/identify-secrets${path}`);
const createSecret = ofApi("post", "");
const checkToken = ofApi("post", "/check");

type SigningSecret = DataOf<typeof identifySecretListAnswer>[number];

const identify = adminPage({
  area,
  read: () => [listIdentifySecrets()],
  view: ([secrets], { words }, { organization }) => {
    const audience = organization?.slug ?? "";
    return {
      title: words.title,
      content: (
        <>
          <p class="quiet lead">{words.text}</p>
          <MadeSecret label={words.secret} gone={words.secretGone} />
          <section class="stack">
            <h2>{words.secrets}</h2>
            <p class="quiet">{words.secretsText}</p>
            <Secrets secrets={secrets} />
            {secrets.length < 2 && (
              <Form of={createSecret}>
                <Button kind="main" icon="plus" label={words.create} />
              </Form>
            )}
          </section>
          <Tester />
          <section class="stack">
            <h2>{words.examples}</h2>
            <p class="quiet">{words.examplesText(audience)}</p>
            {identifyExamples(audience).map(({ name, code }, index) => (
              <details id={`example-${name.toLowerCase()}`} open={index === 0}>
                <summary class="link">{name}</summary>
                <CodeBlock id={`example-${name.toLowerCase()}-code`} label={name} text={code} />
              </details>
            ))}
          </section>
        </>
      ),
    };
  },
  actions: [
    { of: createSecret, path: "", showsResult: true },
    { of: checkToken, path: "/check", showsResult: true },
  ],
});

const Secrets = ({ secrets }: { secrets: SigningSecret[] }) => {
  const visit = useVisit();
  const words = useWords("identify");
  return (
    <DataTable
      id="secrets"
      caption={words.secrets}
      columns={[
        { label: words.secret, cell: ({ last_four }) => <code class="code">fcs_sig_…{last_four}</code> },
        { label: words.created, cell: (one) => <Created of={one} /> },
        {
          label: words.lastUse,
          cell: ({ last_used_at }) =>
            last_used_at ? <Day at={last_used_at} /> : <span class="quiet">{words.unused}</span>,
        },
        {
          label: words.actions,
          hasQuietLabel: true,
          cell: ({ id, last_four }) => (
            <div class="row-actions">
              <Button
                kind="small danger"
                href={adminPath(visit, `/settings/identify/${id}/delete`)}
                aria-label={`${words.remove}${words.colon}…${last_four}`}
                label={words.remove}
              />
            </div>
          ),
        },
      ]}
      rows={secrets}
      empty={<p>{words.empty}</p>}
    />
  );
};

const Tester = () => {
  const words = useWords("identify");
  const answer = answerOf<TokenCheck | object>(useVisit());
  const check = answer && "valid" in answer ? answer : undefined;
  return (
    <section class="stack" id="tester">
      <h2>{words.test}</h2>
      {check && (
        <div class={check.valid ? "notice done" : "notice problem"} id="checked" role="status" data-turbo-temporary>
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
          <CodeBlock id="claims" label={words.claims} text={JSON.stringify(check.claims, null, 2)} />
        </div>
      )}
      <Form of={checkToken} class="card settings-form" hasTurbo={false}>
        <Field name="token" label={words.token} hint={words.tokenHint} rows={4} autocomplete="off" />
        <div class="buttons">
          <Button label={words.check} />
        </div>
      </Form>
    </section>
  );
};

const deleteSecret = adminPage({
  area,
  path: "/:id/delete",
  read: () => [listIdentifySecrets()],
  view: ([secrets], { words, params }) => ({
    title: words.removeTitle,
    trail: [],
    confirm: {
      text: words.removeText(`…${rowOf(secrets, params.id).last_four}`),
      lost: [words.removeSessions, words.removeTokens],
      submit: words.remove,
    },
  }),
  actions: [{ of: ofApi("delete", "/:id"), path: "/:id", done: "removed" }],
});

export const identifyPages = [identify, deleteSecret];

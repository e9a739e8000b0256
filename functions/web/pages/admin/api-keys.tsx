import { notFound } from "../../../_shared/http/api-error.ts";
import { environment } from "../../../_shared/runtime/environment.ts";
import { listApiKeys } from "../../../_shared/statements/admin.ts";
import { admin } from "../../../endpoints/admin.ts";
import { CodeBlock } from "../../components/admin/code-block.tsx";
import { type Key, KeyForm, Keys, keyNamed, RevokeKey, RotateKey } from "../../components/admin/keys.tsx";
import { Secret } from "../../components/admin/secret.tsx";
import { Icon } from "../../components/icon.tsx";
import { apiKeysMessages } from "../../messages/admin/index.ts";
import { endpointOf } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

const area = "apiKeys";
const words = apiKeysMessages;
const baseOf = (visit: Visit) => adminPath(visit, "/settings/api-keys");
const ofApi = (method: "post" | "delete", path: string) =>
  endpointOf(admin, method, `/admin/api-keys${path}`);

const apiKeys = adminPage({
  area,
  words,
  call: () => [listApiKeys()],
  view: ([[list]], { visit, words }) => {
    const made = visit.answered && (JSON.parse(visit.answered).data as { secret: string | null });
    return {
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
          {made && <Secret id="secret" label={words.secret} secret={made.secret} visit={visit} />}
          {made && made.secret !== null && (
            <div data-turbo-temporary>
              <CodeBlock
                id="try"
                label={words.tryIt}
                text={`curl ${environment.supabaseUrl}/api/submissions -H "Authorization: Bearer ${made.secret}"`}
                visit={visit}
              />
            </div>
          )}
          <Keys keys={JSON.parse(list?.data ?? "[]") as Key[]} base={baseOf(visit)} visit={visit} />
        </>
      ),
    };
  },
});

const newApiKey = adminPage({
  area,
  path: "/new",
  words,
  call: () => [],
  view: (_rows, { visit, words }) => ({
    title: words.newTitle,
    trail: [],
    content: <KeyForm action={baseOf(visit)} back={baseOf(visit)} visit={visit} />,
  }),
});

const rotateApiKey = adminPage({
  area,
  path: "/:id/rotate",
  words,
  call: () => [listApiKeys()],
  view: ([[list]], { visit, words, params }) => {
    const key = keyNamed(list?.data, params.id);
    if (!key) throw notFound("key");
    return {
      title: words.rotateTitle,
      trail: [],
      content: <RotateKey of={key} base={baseOf(visit)} back={baseOf(visit)} visit={visit} />,
    };
  },
});

const revokeApiKey = adminPage({
  area,
  path: "/:id/revoke",
  words,
  call: () => [listApiKeys()],
  view: ([[list]], { visit, words, params }) => {
    const key = keyNamed(list?.data, params.id);
    if (!key) throw notFound("key");
    return {
      title: words.revokeTitle,
      trail: [],
      content: <RevokeKey of={key} base={baseOf(visit)} back={baseOf(visit)} visit={visit} />,
    };
  },
});

export const apiKeyPages = [
  apiKeys,
  newApiKey,
  rotateApiKey,
  revokeApiKey,
  adminAction(ofApi("post", ""), { area, formPage: newApiKey, resultPage: apiKeys }),
  adminAction(ofApi("post", "/:id/rotate"), {
    area,
    path: "/:id/rotate",
    formPage: rotateApiKey,
    resultPage: apiKeys,
  }),
  adminAction(ofApi("delete", "/:id"), { area, path: "/:id", formPage: apiKeys, doneMessage: "revoked" }),
];

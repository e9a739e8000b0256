import { publicAddress } from "../../../_shared/http/own-addresses.ts";
import { listApiKeys } from "../../../_shared/statements/admin.ts";
import { listAgentKeys, listAgents } from "../../../_shared/statements/agents.ts";
import { admin } from "../../../endpoints/admin.ts";
import { CodeBlock } from "../../components/admin/code-block.tsx";
import { KeyForm, Keys, OverlapField } from "../../components/admin/keys.tsx";
import { MadeSecret, secretIn } from "../../components/admin/secret.tsx";
import { Button } from "../../components/button.tsx";
import { endpointOf, type Page } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { rowOf } from "../../shown.ts";
import { adminPage } from "./admin-page.tsx";
import * as ofAgent from "./agents/shared.tsx";

const apiKeys = adminPage({
  area: "apiKeys",
  read: () => [listApiKeys()],
  view: ([keys], { visit, words }) => {
    const base = adminPath(visit, "/settings/api-keys");
    const secret = secretIn(visit);
    return {
      title: words.title,
      actions: <Button kind="main" icon="plus" href={`${base}/new`} label={words.create} />,
      content: (
        <>
          <p class="quiet lead">{words.text}</p>
          <MadeSecret label={words.secret} />
          {secret && (
            <div data-turbo-temporary>
              <CodeBlock
                id="try"
                label={words.tryIt}
                text={`curl ${publicAddress}/api/submissions -H "Authorization: Bearer ${secret}"`}
              />
            </div>
          )}
          <Keys keys={keys} base={base} />
        </>
      ),
    };
  },
});

/** Makes, rotates and revokes keys of the organization or of an agent, whose page `shownBy` shows a new secret. */
export function keyPages(area: "apiKeys" | "agents", shownBy: Page): Page[] {
  const ofAgents = area === "agents";
  const path = ofAgents ? "/:id/keys" : "";
  const pathOfOne = `${path}/:${ofAgents ? "key_id" : "id"}`;
  const ofApi = (method: "post" | "delete", end: string) =>
    ofAgents ? ofAgent.ofApi(method, end) : endpointOf(admin, method, `/admin/api-keys${end}`);
  const next = ofAgents ? "/:id" : "";

  const create = adminPage({
    area,
    path: `${path}/new`,
    read: () => (ofAgents ? [listAgents()] : []),
    view: ([agents], { visit, params }) => {
      const { apiKeys, agents: words } = visit.messages.admin;
      const trail = agents ? ofAgent.trailOf(visit, rowOf(agents, params.id)) : [];
      const back = trail[0]?.href ?? adminPath(visit, "/settings/api-keys");
      return { title: ofAgents ? words.newKeyTitle : apiKeys.newTitle, trail, content: <KeyForm back={back} /> };
    },
    actions: [{ of: ofApi("post", path), path, resultPage: shownBy }],
  });

  const change = (what: "rotate" | "revoke", action: NonNullable<Parameters<typeof adminPage>[0]["actions"]>[number]) =>
    adminPage({
      area,
      path: `${pathOfOne}/${what}`,
      read: ({ params: { id } }) => [ofAgents ? listAgentKeys(id) : listApiKeys(), ...(ofAgents ? [listAgents()] : [])],
      view: ([keys, agents], { visit, params }) => {
        const words = visit.messages.admin.apiKeys;
        const { name } = rowOf(keys, ofAgents ? params.key_id : params.id);
        return {
          title: words[`${what}Title`],
          trail: agents ? ofAgent.trailOf(visit, rowOf(agents, params.id)) : [],
          confirm: {
            text: words[`${what}Text`](name),
            submit: words[what],
            ...(what === "revoke"
              ? { lost: [words.revokeLost] }
              : { children: <OverlapField label={words.overlap} /> }),
          },
        };
      },
      actions: [action],
    });

  return [
    create,
    change("rotate", { of: ofApi("post", `${pathOfOne}/rotate`), resultPage: shownBy }),
    change("revoke", { of: ofApi("delete", pathOfOne), path: pathOfOne, done: "revoked", next }),
  ];
}

export const apiKeyPages = [apiKeys, ...keyPages("apiKeys", apiKeys)];

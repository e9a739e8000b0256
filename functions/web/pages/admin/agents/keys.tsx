import { notFound } from "../../../../_shared/http/api-error.ts";
import { listAgentKeys, listAgents } from "../../../../_shared/statements/agents.ts";
import { KeyForm, keyNamed, RevokeKey, RotateKey } from "../../../components/admin/keys.tsx";
import { apiKeysMessages } from "../../../messages/admin/index.ts";
import { adminPage } from "../admin-page.tsx";
import { agentNamed, area, pathOf, trailOf, words } from "./shared.tsx";

export const newAgentKey = adminPage({
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

export const rotateAgentKey = adminPage({
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

export const revokeAgentKey = adminPage({
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

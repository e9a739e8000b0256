import { notFound } from "../../../../_shared/http/api-error.ts";
import { listAgentKeys, listAgents } from "../../../../_shared/statements/agents.ts";
import { KeyForm, keyNamed, RevokeKey, RotateKey } from "../../../components/admin/keys.tsx";
import { adminPage } from "../admin-page.tsx";
import { agentNamed, area, pathOf, trailOf } from "./shared.tsx";

export const newAgentKey = adminPage({
  area,
  path: "/:id/keys/new",
  call: () => [listAgents()],
  view: ([list], { visit, words, params }) => {
    const shown = agentNamed(list, params.id);
    const path = pathOf(visit, shown.id);
    return {
      title: words.newKeyTitle,
      trail: trailOf(visit, shown),
      content: <KeyForm action={`${path}/keys`} back={path} />,
    };
  },
});

export const rotateAgentKey = adminPage({
  area,
  path: "/:id/keys/:key_id/rotate",
  call: ({ params: { id } }) => [listAgents(), listAgentKeys(id)],
  view: ([list, [keys]], { visit, params }) => {
    const shown = agentNamed(list, params.id);
    const key = keyNamed(keys?.data, params.key_id);
    if (!key) throw notFound("key");
    const path = pathOf(visit, shown.id);
    return {
      title: visit.messages.admin.apiKeys.rotateTitle,
      trail: trailOf(visit, shown),
      content: <RotateKey of={key} base={`${path}/keys`} back={path} />,
    };
  },
});

export const revokeAgentKey = adminPage({
  area,
  path: "/:id/keys/:key_id/revoke",
  call: ({ params: { id } }) => [listAgents(), listAgentKeys(id)],
  view: ([list, [keys]], { visit, params }) => {
    const shown = agentNamed(list, params.id);
    const key = keyNamed(keys?.data, params.key_id);
    if (!key) throw notFound("key");
    const path = pathOf(visit, shown.id);
    return {
      title: visit.messages.admin.apiKeys.revokeTitle,
      trail: trailOf(visit, shown),
      content: <RevokeKey of={key} base={`${path}/keys`} back={path} />,
    };
  },
});

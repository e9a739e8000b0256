import { api } from "../../api/client.ts";
import { stack } from "../../stack.ts";
import type { Maker } from "./maker.ts";

export const organizations = {
  organization: async (scene) => ({ ...(await scene.organization) }),
  /** An invite of the guest. */
  invite: async (scene) => {
    const as = { token: "", ...(await scene.get("admin")) };
    const path = `/api/organizations/${(await scene.organization).id}/invites`;
    const body = { email: (await scene.get("guest")).email, role: "member" };
    const { data } = (await api("POST", path, { as, body })).body as { data: { id: string; token: string } };
    return { id: data.id, token: data.token };
  },
  /** The service's own pages; the id is their origin. */
  site: async () => ({ id: new URL(stack.site_url).origin }),
  /** A cookie with the user's session. */
  session: async (scene) => {
    const session = JSON.stringify({ access_token: (await scene.get("user")).token });
    return { id: `sb-127-auth-token=base64-${Buffer.from(session).toString("base64url")}` };
  },
} satisfies Record<string, Maker>;

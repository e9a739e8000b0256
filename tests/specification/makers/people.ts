import { scopes as allScopes, type Scope } from "../../../shared/scopes.ts";
import { newGuest, newKey, newOrganization, newUser, type User, unknownKey } from "../../api/world.ts";
import { newAgent } from "../../mcp/agents.ts";
import { sql } from "../../stack.ts";
import type { Made, Maker, Thing } from "./maker.ts";

const person = ({ id, email, token, name }: User): Thing => ({ id, email, token, name });
const member =
  (role: "owner" | "admin" | "member"): Maker =>
  async (scene) =>
    person(await newUser(`The ${role}`, { organization: await scene.organization, role }));

/** Whoever has used all requests of this level. */
async function exhausted<Caller extends Thing>(caller: Caller, rule: string): Promise<Caller> {
  await sql`insert into private.rate_counters ${sql({ rule, subject: caller.id, started_at: new Date(), used: 1e6 })}`;
  return caller;
}

export const people = {
  author: async () => person(await newUser("Ada Author")),
  user: async () => person(await newUser("Una User")),
  other: async () => person(await newUser("Otto Other")),
  nameless: async () => {
    const made = person(await newUser());
    await sql`update public.profiles set name = null where id = ${made.id}`;
    return made;
  },
  owner: member("owner"),
  admin: member("admin"),
  member: member("member"),
  /** The admin of another organization. */
  outsider: async () =>
    person(await newUser("Olga Outsider", { organization: await newOrganization(), role: "admin" })),
  /** The owner of an organization whose plan allows nothing more; `slug` is its organization's. */
  at_limit: async () => {
    const organization = await newOrganization({ max_submissions: 0, max_surveys: 0 });
    return { ...person(await newUser("Lea Limit", { organization, role: "owner" })), slug: organization.slug };
  },
  /** Has no request left in this minute. */
  busy: async () => exhausted(person(await newUser()), "level_user"),
  /** Has a confirmed address, and so may accept an invite. */
  guest: async () => person(await newGuest("Gus Guest")),
  /** An agent whose key is of the past. */
  expired_agent: async (scene: Made) => {
    const { id, token } = await newAgent({
      organization: await scene.organization,
      expiresAt: new Date(Date.now() - 1000),
    });
    return { id, token };
  },
  /** Sends a token that nobody issued. */
  impostor: async () => ({ id: "", token: "garbage" }),
  /** A key of the right form that was never issued. */
  unissued: async () => ({ id: "", ...(await unknownKey()) }),
} satisfies Record<string, Maker>;

const scopesOf = (name: string): readonly Scope[] => {
  const [, scope] = name.split(" ");
  return scope === undefined ? allScopes : [scope as Scope];
};

export const keys = {
  /** A key of the organization; its id is that of its profile. */
  key: async (scene: Made, name: string) => {
    const { id, profileId, token } = await newKey(await scene.organization, scopesOf(name));
    return { id: profileId, key_id: id, token };
  },
  expired: async (scene: Made) => {
    const { profileId, token } = await newKey(await scene.organization, allScopes, new Date(Date.now() - 1000));
    return { id: profileId, token };
  },
  /** A key of an organization whose plan allows nothing more. */
  at_limit_key: async () => {
    const { profileId, token } = await newKey(await newOrganization({ max_submissions: 0 }), allScopes);
    return { id: profileId, token };
  },
  /** A key without requests left. */
  busy_key: async (scene: Made) => {
    const { profileId, token } = await newKey(await scene.organization, allScopes);
    return exhausted({ id: profileId, token }, "level_key");
  },
  busy_agent: async (scene: Made) =>
    exhausted(
      await newAgent({ organization: await scene.organization }).then(({ id, token }) => ({ id, token })),
      "agent_standard",
    ),
  agent: async (scene: Made, name: string) => {
    const { id, token } = await newAgent({ organization: await scene.organization, scopes: scopesOf(name) });
    const [key] = await sql<{ id: string }[]>`select id from private.api_keys where profile_id = ${id}`;
    return { id, key_id: key?.id, token };
  },
} satisfies Record<string, Maker>;

export const addresses = {
  /** An address without an account, which is its own id. */
  mailbox: async () => ({ id: `${crypto.randomUUID()}@example.org` }),
} satisfies Record<string, Maker>;

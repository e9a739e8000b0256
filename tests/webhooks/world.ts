import { expect } from "vitest";
import { api } from "../api/client.ts";
import { type Key, newKey, newOrganization, newUser, type Organization, type User } from "../api/world.ts";
import { until } from "../until.ts";
import { type Behaviour, ok, type Receiver, startReceiver } from "./receivers.ts";

/** An organization with an admin, a key that manages webhooks, and an author. */
export interface World {
  organization: Organization;
  admin: User;
  author: User;
  key: Key;
  /** The path of its webhooks. */
  path: string;
}

export async function newWorld(): Promise<World> {
  const organization = await newOrganization();
  return {
    organization,
    admin: await newUser("Ada Admin", { organization, role: "admin" }),
    author: await newUser("Ann Author"),
    key: await newKey(organization, ["webhooks:read", "webhooks:write"]),
    path: `/api/organizations/${organization.id}/webhooks`,
  };
}

export interface Hook {
  id: string;
  secret: string;
  /** The path of the webhook itself. */
  path: string;
  receiver: Receiver;
}

export async function newHook(
  world: World,
  events: string[],
  { behave = ok, secret }: { behave?: Behaviour; secret?: string } = {},
): Promise<Hook> {
  const receiver = await startReceiver(behave);
  const answer = await api("POST", world.path, { as: world.key, body: { url: receiver.url, events, secret } });
  expect(answer.status, answer.text).toBe(201);
  const { data } = answer.body as { data: { id: string; secret?: string } };
  return { id: data.id, secret: secret ?? data.secret ?? "", path: `${world.path}/${data.id}`, receiver };
}

export const deliveriesTo = ({ receiver }: Hook, count = 1) =>
  until(() => (receiver.heard.length >= count ? receiver.heard : undefined));

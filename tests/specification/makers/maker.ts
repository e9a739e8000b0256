import type { Organization } from "../../api/world.ts";

/** A row or caller of a scene: its id, and other texts that requests name. */
export type Thing = { id: string; token?: string; [field: string]: string | undefined };

/** What a row has made, for makers that need further things. */
export interface Made {
  organization: Promise<Organization>;
  get(name: string): Promise<Thing>;
  id(name: string): Promise<string>;
}

/** Makes a thing; `name` is the whole name of a key, with its scope. */
export type Maker = (scene: Made, name: string) => Promise<Thing>;

import { z } from "zod";

export const scopes = [
  "surveys:read",
  "surveys:write",
  "surveys:publish",
  "responses:read",
  "submissions:read",
  "submissions:write",
  "submissions:moderate",
  "analytics:read",
  "webhooks:read",
  "webhooks:write",
  "members:write",
  "organization:write",
] as const;

export const scope = z.enum(scopes).meta({ id: "Scope", description: "A permission of a key: noun, colon, action." });

export type Scope = z.infer<typeof scope>;

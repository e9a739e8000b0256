import { isUuid } from "../../shared/fields.ts";
import { runStatement } from "../_shared/database/run.ts";
import { pictureHeaders, readLogo } from "../_shared/files/logos.ts";
import { bodyOf, encoded, keptText } from "../_shared/http/compression.ts";
import type { JsonResponse } from "../_shared/http/endpoint.ts";
import { picturedName } from "../_shared/statements/people.ts";
import { assets, widget } from "./assets.generated.ts";
import { brandColors } from "./brand.ts";
import { figureOf } from "./figure.ts";

const forever = "public, max-age=31536000, immutable";

const files = new Map<string, JsonResponse>();

/** A script, stylesheet or image. Its name contains a hash of its content, so it is cacheable for ever. */
export function assetResponse(name: string, request: Request): Response {
  const asset = Object.hasOwn(assets, name) ? assets[name] : undefined;
  if (!asset) return plain(404, "There is nothing at this address.");
  const file = files.get(name) ?? keptText(asset, { ...common, "Content-Type": asset.type });
  files.set(name, file);
  return responseOf(request, file);
}

// Host pages name it without a hash, so browsers ask for it again after five minutes. Pages of any origin may load it,
// also those that ask for CORS.
const loader = keptText(widget, {
  "Content-Type": "text/javascript; charset=utf-8",
  "Cache-Control": "public, max-age=300, stale-while-revalidate=86400",
  "Access-Control-Allow-Origin": "*",
  "Cross-Origin-Resource-Policy": "cross-origin",
  "X-Content-Type-Options": "nosniff",
});

/** The loader of the widget. */
export const widgetResponse = (request: Request) => responseOf(request, loader);

function responseOf(request: Request, file: JsonResponse): Response {
  const sent = encoded(request, file, false);
  return new Response(bodyOf(sent), sent);
}

/**
 * A brand color as `<color>.css`, a separate stylesheet because the policy of the pages allows no inline style, or as
 * `<color>.svg`, the icon of a browser's tab.
 */
export function brandResponse(name: string): Response {
  const [, color, type] = /^([0-9a-f]{6})\.(css|svg)$/.exec(name) ?? [];
  if (!color) return plain(404, "There is nothing at this address.");
  const file = type === "css" ? stylesheetOf(`#${color}`) : iconOf(`#${color}`);
  return new Response(file.text, { headers: { ...common, "Content-Type": file.type } });
}

/** The logo of an organization. Another one has another name, so it is cacheable for ever. */
export async function logoResponse(organization: string, name: string): Promise<Response> {
  return (await readLogo(organization, name)) ?? plain(404, "There is nothing at this address.");
}

/**
 * The figure of a person, as `<profile id>.svg`: the same for all callers, and neutral for unknown ids. Caches forget
 * the initials of an erased person within a day.
 */
export async function figureResponse(name: string, client: string | null): Promise<Response> {
  const id = name.replace(/\.svg$/, "").toLowerCase();
  if (!isUuid(id) || !name.endsWith(".svg")) return plain(404, "There is nothing at this address.");
  const [row] = await runStatement(picturedName(id), { role: "login", caller: client ?? undefined });
  return new Response(figureOf(id, row?.data ?? null), {
    headers: { ...pictureHeaders, "Content-Type": "image/svg+xml", "Cache-Control": "public, max-age=86400" },
  });
}

function stylesheetOf(color: string) {
  const { light, dark, onLight, onDark } = brandColors(color);
  const text = `@layer brand{:root{--accent:light-dark(${light},${dark});--on-accent:light-dark(${onLight},${onDark})}}`;
  return { text, type: "text/css; charset=utf-8" };
}

const iconOf = (color: string) => ({
  text: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="7" fill="${color}"/></svg>`,
  type: "image/svg+xml",
});

const common = { "Cache-Control": forever, "X-Content-Type-Options": "nosniff" };

const plain = (status: number, text: string) =>
  new Response(text, { status, headers: { "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store" } });

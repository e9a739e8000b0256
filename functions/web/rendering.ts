import { createContext, useContext } from "hono/jsx";
import type { Frame } from "../_shared/statements/pages.ts";
import type { AreaTexts } from "../words/index.ts";
import type { Page } from "./view.ts";
import type { Visit } from "./visit.ts";

/** The context of the current rendering, which components read instead of receiving it as properties. */
export type Rendering = { visit: Visit; frame: Frame; page?: Page | undefined; params: Record<string, string> };

export const RenderingContext = createContext<Rendering | undefined>(undefined);

export function useRendering(): Rendering {
  const rendering = useContext(RenderingContext);
  if (!rendering) throw new Error("A component was rendered outside of a page.");
  return rendering;
}

export const useVisit = () => useRendering().visit;
export const useFrame = () => useRendering().frame;
/** The zone of the days and times on a page: that of the organization in its header, UTC without one. */
export const timeZoneOf = ({ organization }: Frame) => organization?.time_zone ?? "UTC";
export const useTimeZone = () => timeZoneOf(useFrame());
/** Texts of an area of the dashboard. */
export const useWords = <Area extends keyof AreaTexts>(area: Area) => useVisit().messages.admin[area];

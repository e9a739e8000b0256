import type { PropsWithChildren } from "hono/jsx";
import { useVisit } from "../rendering.ts";

/** Says that an action is done, unless the next one was refused. */
export const Done = ({ children }: PropsWithChildren) =>
  useVisit().refused ? null : (
    <p class="notice" role="status">
      {children}
    </p>
  );

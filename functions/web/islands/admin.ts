import { addIslands } from "./islands.ts";

// The dashboard alone loads this script.
addIslands({
  "live-inbox": () => import("./live-inbox.ts"),
  inbox: () => import("./inbox.ts"),
  "file-size": () => import("./file-size.ts"),
  follow: () => import("./follow.ts"),
  copy: () => import("./copy.ts"),
  "select-all": () => import("./select-all.ts"),
  "survey-builder": () => import("./survey-builder.ts"),
});

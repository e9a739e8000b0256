import type { AreaTexts } from "../../../../words/index.ts";
import type { Agent } from "./shared.tsx";

export const State = ({ of, words }: { of: Agent; words: AreaTexts["agents"] }) => (
  <span class={`status ${of.retired_at ? "declined" : "completed"}`}>
    {of.retired_at ? words.retired : words.active}
  </span>
);

import { useWords } from "../../../rendering.ts";
import type { Agent } from "./shared.tsx";

export const State = ({ of }: { of: Agent }) => {
  const words = useWords("agents");
  return (
    <span class={`status ${of.retired_at ? "declined" : "completed"}`}>
      {of.retired_at ? words.retired : words.active}
    </span>
  );
};

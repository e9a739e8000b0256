import type { z } from "zod";
import type { author } from "../../../../shared/taxonomy.ts";
import { useVisit } from "../../rendering.ts";
import { Day } from "../day.tsx";
import { Icon } from "../icon.tsx";

type Props = { of: { created_at: string; created_by: z.infer<typeof author> | null } };

/** When and by whom a key, signing secret, webhook or agent was made, with a warning if that person left the team. */
export const Created = ({ of: { created_at, created_by } }: Props) => {
  const visit = useVisit();
  const words = visit.messages.admin.frame;
  return (
    <div>
      <Day at={created_at} />
      {created_by && <div class="quiet small">{words.createdBy(created_by.name)}</div>}
      {created_by && !created_by.is_team_member && (
        <div class="warning with-icon">
          <Icon name="triangle-alert" />
          {words.leftTeam}
        </div>
      )}
    </div>
  );
};

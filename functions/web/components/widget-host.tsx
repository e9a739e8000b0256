import type { Frame } from "../../_shared/statements/pages.ts";
import { brandColors } from "../brand.ts";
import { useVisit } from "../rendering.ts";
import type { View } from "../view.ts";
import type { WidgetColors, WidgetWords } from "../widget/protocol.ts";

type Props = { view: View; frame: Frame };

/** Data of an embedded page for the widget, which its island sends to an allowed origin only. */
export const WidgetHost = ({ view, frame: { organization, viewer } }: Props) => {
  const visit = useVisit();
  if (!organization || organization.allowed_origins.length === 0) return null;
  const { nav, widget } = visit.messages;
  const words: WidgetWords = { open: nav.board, board: nav.board, roadmap: nav.roadmap, ...widget.words };
  const colors: WidgetColors | null = organization.brand_color ? brandColors(organization.brand_color) : null;
  return (
    <div
      id="widget-host"
      hidden
      data-island="widget-host"
      data-origins={JSON.stringify(organization.allowed_origins)}
      data-base={`/embed/o/${organization.slug}`}
      data-viewer={viewer?.id}
      data-section={view.section}
      data-words={JSON.stringify(words)}
      data-colors={JSON.stringify(colors)}
    />
  );
};

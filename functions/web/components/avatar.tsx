import { environment } from "../../_shared/runtime/environment.ts";
import { figureOf } from "../figure.ts";
import { useFrame } from "../rendering.ts";

/** Where GitHub, Google and the project's own storage have pictures. */
const known = [
  "https://avatars.githubusercontent.com/",
  "https://lh3.googleusercontent.com/",
  new URL("/storage/v1/object/public/", environment.supabaseUrl).href,
];

/**
 * A person's picture, else their figure. The name is beside it or in the control's label. Only pictures of known sites
 * and of origins that the organization allows: any other tells its owner when and from where somebody reads, such as a
 * moderator.
 */
export const Avatar = ({ id, name, url }: { id: string; name: string; url: string | null }) => {
  const { organization } = useFrame();
  const starts = [...known, ...(organization?.allowed_origins ?? []).map((origin) => `${origin}/`)];
  const src = url && URL.canParse(url) ? new URL(url).href : "";
  // Keys have the organization's name. They and the nameless have the neutral figure, as in `/avatars/<id>.svg`.
  const isNeutral = name === "Anonymous" || name === organization?.name;
  const shown = starts.some((start) => src.startsWith(start))
    ? src
    : `data:image/svg+xml,${encodeURIComponent(figureOf(id, isNeutral ? null : name))}`;
  return <img class="avatar" src={shown} alt="" width="28" height="28" loading="lazy" referrerpolicy="no-referrer" />;
};

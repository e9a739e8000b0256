import { createContext, useContext } from "hono/jsx";
import { environment } from "../../_shared/runtime/environment.ts";

/** Where GitHub, Google and the project's own storage have pictures. */
const known = [
  "https://avatars.githubusercontent.com/",
  "https://lh3.googleusercontent.com/",
  new URL("/storage/v1/object/public/", environment.supabaseUrl).href,
];

/** Origins that the page's organization allows. */
export const AllowedOrigins = createContext<readonly string[]>([]);

/**
 * A person's picture, else the first letter of their name. The name is beside it or in the control's label. Only pictures of
 * known sites: any other tells its owner when and from where somebody reads, such as a moderator.
 */
export const Avatar = ({ name, url }: { name: string; url: string | null }) => {
  const starts = [...known, ...useContext(AllowedOrigins).map((origin) => `${origin}/`)];
  const src = url && URL.canParse(url) ? new URL(url).href : "";
  return starts.some((start) => src.startsWith(start)) ? (
    <img class="avatar" src={src} alt="" width="28" height="28" loading="lazy" referrerpolicy="no-referrer" />
  ) : (
    <span class="avatar" aria-hidden="true">
      {[...name][0]?.toLocaleUpperCase()}
    </span>
  );
};

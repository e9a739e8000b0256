/**
 * A person's picture, else the first letter of their name. The name is beside it or in the control's label.
 */
export const Avatar = ({ name, url }: { name: string; url: string | null }) =>
  url?.startsWith("https://") ? (
    <img class="avatar" src={url} alt="" width="28" height="28" loading="lazy" referrerpolicy="no-referrer" />
  ) : (
    <span class="avatar" aria-hidden="true">
      {[...name][0]?.toLocaleUpperCase()}
    </span>
  );

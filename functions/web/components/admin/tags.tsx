/** Names, such as those of scopes or tags. */
export const Tags = ({ of }: { of: readonly string[] }) => (
  <ul class="tags">
    {of.map((name) => (
      <li class="tag">{name}</li>
    ))}
  </ul>
);

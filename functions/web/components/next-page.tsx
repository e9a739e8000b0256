import { linkWith } from "../paths.ts";
import { useVisit } from "../rendering.ts";

type Props = {
  next: string | null;
  isFirst: boolean;
  /** The parameter of the query that says where a page starts. */
  cursor?: string | undefined;
};

/** The link below a list with a cursor. */
export const NextPage = ({ next, isFirst, cursor = "cursor" }: Props) => {
  const visit = useVisit();
  const { board } = visit.messages;
  if (!next && isFirst) return null;
  return (
    <nav class="pages" aria-label={board.more}>
      {!isFirst && <a {...linkWith(visit, { [cursor]: null })}>{board.first}</a>}
      {next && (
        <a class="button" rel="next" {...linkWith(visit, { [cursor]: next })}>
          {board.more}
        </a>
      )}
    </nav>
  );
};

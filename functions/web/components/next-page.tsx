import { linkWith } from "../paths.ts";
import { useVisit } from "../rendering.ts";

type Props = {
  /** The cursor or number of the next page. */
  next: string | null;
  isFirst: boolean;
  /** The parameter of the query that says where a page starts. */
  by?: string | undefined;
};

/** The links below a list. */
export const NextPage = ({ next, isFirst, by = "cursor" }: Props) => {
  const visit = useVisit();
  const { board } = visit.messages;
  if (!next && isFirst) return null;
  return (
    <nav class="pages" aria-label={board.more}>
      {!isFirst && <a {...linkWith(visit, { [by]: null })}>{board.first}</a>}
      {next && (
        <a class="button" rel="next" {...linkWith(visit, { [by]: next })}>
          {board.more}
        </a>
      )}
    </nav>
  );
};

type PagesProps = { page: number; limit: number; total: number };

/** The link below a list with numbered pages. */
export const Pages = ({ page, limit, total }: PagesProps) => (
  <NextPage by="page" next={page * limit < total ? String(page + 1) : null} isFirst={page === 1} />
);

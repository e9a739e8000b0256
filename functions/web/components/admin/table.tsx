import type { Child } from "hono/jsx";
import { formatNumber } from "../../format.ts";
import { linkWith } from "../../paths.ts";
import { useVisit } from "../../rendering.ts";
import { Day } from "../day.tsx";
import { Icon } from "../icon.tsx";
import { NextPage } from "../next-page.tsx";

export type Column<Row> = {
  label: string;
  cell: (row: Row) => Child;
  /** The value of `sort` in the URL that sorts by this column. */
  sort?: string;
  isNumber?: boolean;
  /** Only screen readers get the header, for example of a column of buttons. */
  hasQuietLabel?: boolean;
};

type Extra<Row> = Partial<Pick<Column<Row>, "sort" | "cell">>;
type Value<Name extends string, Of> = { [Key in Name]: Of };
type MayHave<Name extends string, Of> = { [Key in Name]?: Of };

/** A column of days, whose rows have the moment in the property `name`. */
export const day = <Name extends string>(
  name: Name,
  label: string,
  more?: Extra<MayHave<Name, string | null>>,
): Column<MayHave<Name, string | null>> => ({ label, cell: (row) => <DayCell at={row[name]} />, ...more });

/** A column of numbers, which are in the property `name`; `cell` writes them in another way. */
export const number = <Name extends string>(
  name: Name,
  label: string,
  more?: Extra<Value<Name, number | null>>,
): Column<Value<Name, number | null>> => ({
  label,
  isNumber: true,
  cell: (row) => <NumberCell of={row[name]} />,
  ...more,
});

const DayCell = ({ at }: { at?: string | null }) => <>{at ? <Day at={at} /> : "–"}</>;

const NumberCell = ({ of }: { of: number | null }) => {
  const { locale } = useVisit();
  return <>{of === null ? "–" : formatNumber(of, locale)}</>;
};

type Props<Row> = {
  id: string;
  /** Name of the listed rows. */
  caption: string;
  columns: Column<Row>[];
  rows: Row[];
  /** By default its id. */
  rowId?: (row: Row) => string;
  /** Checkboxes that belong to the form of this id, named `name`; the bar `bar` shows the number of selected rows. */
  select?: { form: string; name: string; value: (row: Row) => string; label: (row: Row) => string; bar?: string };
  sorted?: { by: string; order: "asc" | "desc" };
  /** Shown instead of a table without rows. */
  empty: Child;
  /** The cursor of the next page; undefined where the list has no pages. */
  next?: string | null;
  /** The parameter of the query that says where a page starts. */
  cursor?: string;
};

const idOf = (row: unknown) => String((row as { id?: unknown }).id);

/** Rows with a header. On a phone each row is a block with its cells stacked. */
export const DataTable = <Row,>(props: Props<Row>) => {
  const visit = useVisit();
  const { id, caption, columns, rows, rowId = idOf, select, sorted, empty, next, cursor } = props;
  const words = visit.messages.admin.frame;
  const isFirst = !visit.query.has(cursor ?? "cursor");
  return (
    <>
      {rows.length === 0 ? (
        <div class="empty">{empty}</div>
      ) : (
        <div class="table-frame">
          <table class="data" id={id}>
            <caption class="unseen">{caption}</caption>
            <thead>
              <tr>
                {select && (
                  <th class="choice">
                    <span class="unseen">{words.choose}</span>
                    <input
                      type="checkbox"
                      id={`${id}-all`}
                      aria-label={words.chooseAll}
                      data-island="select-all"
                      data-bar={select.bar}
                      class="needs-script"
                    />
                  </th>
                )}
                {columns.map((column) => (
                  <Header column={column} sorted={sorted} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr id={`row-${rowId(row)}`}>
                  {select && (
                    <td class="choice">
                      <input
                        type="checkbox"
                        name={select.name}
                        value={select.value(row)}
                        form={select.form}
                        aria-label={`${words.choose}${words.colon}${select.label(row)}`}
                      />
                    </td>
                  )}
                  {columns.map(({ label, cell, isNumber, hasQuietLabel }) => (
                    <td class={isNumber ? "n" : undefined} data-label={hasQuietLabel ? undefined : label}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next !== undefined && <NextPage next={next} isFirst={isFirst} by={cursor} />}
    </>
  );
};

const Header = <Row,>({
  column: { label, sort, isNumber, hasQuietLabel },
  sorted,
}: {
  column: Column<Row>;
  sorted: Props<Row>["sorted"];
}) => {
  const visit = useVisit();
  const isSorted = sort !== undefined && sorted?.by === sort;
  // The header of the sorted column reverses the order; number columns start with the largest.
  const order = isSorted ? (sorted?.order === "asc" ? "desc" : "asc") : isNumber ? "desc" : "asc";
  return (
    <th
      scope="col"
      class={isNumber ? "n" : undefined}
      aria-sort={isSorted ? (sorted?.order === "asc" ? "ascending" : "descending") : undefined}
    >
      {sort === undefined ? (
        <span class={hasQuietLabel ? "unseen" : undefined}>{label}</span>
      ) : (
        <a class="with-icon" {...linkWith(visit, { sort, order })}>
          {label}
          {isSorted && <Icon name={sorted?.order === "asc" ? "arrow-up" : "arrow-down"} />}
        </a>
      )}
    </th>
  );
};

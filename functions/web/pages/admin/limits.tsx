import { limitsInForce, type RateLimitRule } from "../../../_shared/statements/admin.ts";
import type { AreaTexts } from "../../../words/index.ts";
import { Stat } from "../../components/admin/stat.tsx";
import { DataTable, number } from "../../components/admin/table.tsx";
import { formatDuration, formatNumber } from "../../format.ts";
import { adminPage } from "./admin-page.tsx";

const limited = ["submissions", "members", "surveys", "unconfirmed_mails"] as const;

export const limits = adminPage({
  area: "limits",
  read: () => [limitsInForce()],
  view: ([{ plan, rates }], { visit, words }) => ({
    title: words.title,
    content: (
      <>
        <p class="quiet lead">{words.text}</p>
        <section class="stack">
          <h2>{words.plan}</h2>
          <dl class="stats">
            {limited.map((what) => {
              const max = plan[`max_${what}`];
              return (
                <Stat
                  label={words[what]}
                  value={formatNumber(plan[what], visit.locale)}
                  hint={
                    max === null ? (
                      words.noLimit
                    ) : (
                      <>
                        {words.of(formatNumber(max, visit.locale))}
                        {plan[what] >= max && <strong class="warning"> {words.reached}</strong>}
                      </>
                    )
                  }
                />
              );
            })}
          </dl>
        </section>
        <section class="stack">
          <h2>{words.rates}</h2>
          <p class="quiet">{words.ratesText}</p>
          <DataTable
            id="rates"
            caption={words.rates}
            columns={[
              { label: words.what, cell: ({ name }) => labelOf(name, words).what },
              { label: words.who, cell: ({ name }) => labelOf(name, words).who },
              number("max_requests", words.calls),
              {
                label: words.window,
                isNumber: true,
                cell: ({ window_seconds }) => formatDuration(window_seconds, visit.locale, "long"),
              },
            ]}
            rows={inOrder(rates, words)}
            rowId={({ name }) => name}
            empty=""
          />
        </section>
      </>
    ),
  }),
});

/** Sorts rules in the order of `operations` and `callers`: general rules first. */
function inOrder(rules: RateLimitRule[], words: AreaTexts["limits"]): RateLimitRule[] {
  const [operations, callers] = [Object.values<string>(words.operations), Object.values<string>(words.callers)];
  const places = ({ name }: RateLimitRule) => {
    const { what, who } = labelOf(name, words);
    return [operations.indexOf(what), callers.indexOf(who)] as const;
  };
  return rules.toSorted((a, b) => {
    const [what, who] = places(a);
    const [otherWhat, otherWho] = places(b);
    return what - otherWhat || who - otherWho;
  });
}

/** A rule is named after an operation, or an operation and a caller: `vote_create`, `level_user`. */
function labelOf(name: string, { operations, callers }: AreaTexts["limits"]): { what: string; who: string } {
  const end = name.lastIndexOf("_");
  const [operation, caller] = [name.slice(0, Math.max(0, end)), name.slice(end + 1)];
  if (isIn(operations, operation) && isIn(callers, caller))
    return { what: operations[operation], who: callers[caller] };
  return { what: isIn(operations, name) ? operations[name] : name, who: callers.everyone };
}

const isIn = <Words extends object>(words: Words, name: PropertyKey): name is keyof Words => Object.hasOwn(words, name);

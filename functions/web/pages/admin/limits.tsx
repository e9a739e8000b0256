import { limitsInForce } from "../../../_shared/statements/admin.ts";
import { Stat } from "../../components/admin/stat.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { formatNumber } from "../../format.ts";
import { type LimitsMessages, limitsMessages } from "../../messages/admin/index.ts";
import type { Visit } from "../../visit.ts";
import { adminPage } from "./admin-page.tsx";

type Rule = { name: string; max_requests: number; window_seconds: number };
const limited = ["submissions", "members", "surveys", "unconfirmed_mails"] as const;
type Limited = (typeof limited)[number];
type Plan = Record<Limited, number> & Record<`max_${Limited}`, number | null>;

export const limits = adminPage({
  area: "limits",
  words: limitsMessages,
  call: () => [limitsInForce()],
  view: ([[found]], { visit, words }) => {
    const plan: Plan = JSON.parse(found?.plan ?? "null");
    const rules = inOrder(JSON.parse(found?.rates ?? "[]"), words);
    return {
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
                    visit={visit}
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
                { key: "what", label: words.what, cell: ({ name }) => labelOf(name, words).what },
                { key: "who", label: words.who, cell: ({ name }) => labelOf(name, words).who },
                {
                  key: "calls",
                  label: words.calls,
                  isNumber: true,
                  cell: ({ max_requests }) => formatNumber(max_requests, visit.locale),
                },
                {
                  key: "window",
                  label: words.window,
                  isNumber: true,
                  cell: ({ window_seconds }) => duration(window_seconds, visit),
                },
              ]}
              rows={rules}
              rowId={({ name }) => name}
              empty=""
              visit={visit}
            />
          </section>
        </>
      ),
    };
  },
});

/** Sorts rules in the order of `operations` and `callers`: general rules first. */
function inOrder(rules: Rule[], words: LimitsMessages): Rule[] {
  const order = (of: object, word: string) => Object.values(of).indexOf(word);
  return rules
    .map((rule) => ({ rule, ...labelOf(rule.name, words) }))
    .sort(
      (a, b) =>
        order(words.operations, a.what) - order(words.operations, b.what) ||
        order(words.callers, a.who) - order(words.callers, b.who),
    )
    .map(({ rule }) => rule);
}

/** A rule is named after an operation, or an operation and a caller: `vote_create`, `level_user`. */
function labelOf(name: string, { operations, callers }: LimitsMessages): { what: string; who: string } {
  const end = name.lastIndexOf("_");
  const [operation, caller] = [name.slice(0, Math.max(0, end)), name.slice(end + 1)];
  if (isIn(operations, operation) && isIn(callers, caller))
    return { what: operations[operation], who: callers[caller] };
  return { what: isIn(operations, name) ? operations[name] : name, who: callers.everyone };
}

const isIn = <Words extends object>(words: Words, name: PropertyKey): name is keyof Words =>
  Object.hasOwn(words, name);

function duration(seconds: number, { locale }: Visit): string {
  const [value, unit] =
    seconds % 3600 === 0
      ? [seconds / 3600, "hour"]
      : seconds % 60 === 0
        ? [seconds / 60, "minute"]
        : [seconds, "second"];
  return new Intl.NumberFormat(locale, { style: "unit", unit: String(unit), unitDisplay: "long" }).format(
    Number(value),
  );
}

import { z } from "zod";
import { queryInteger } from "../../../../../shared/pagination.ts";
import type { survey as surveySchema } from "../../../../../shared/surveys.ts";
import { surveyListQuery, surveyStatus } from "../../../../../shared/surveys.ts";
import { nextCursor } from "../../../../_shared/http/cursor.ts";
import { listSurveys } from "../../../../_shared/statements/surveys.ts";
import { type Column, DataTable } from "../../../components/admin/table.tsx";
import { Day } from "../../../components/day.tsx";
import { Icon } from "../../../components/icon.tsx";
import { formatNumber } from "../../../format.ts";
import { surveysMessages } from "../../../messages/admin/index.ts";
import { adminPath, hrefWith } from "../../../paths.ts";
import { adminPage } from "../admin-page.tsx";
import { formatShare, SurveyStatus, withoutEmpty } from "./shared.tsx";

type Survey = z.infer<typeof surveySchema>;

export const surveyList = adminPage({
  area: "surveys",
  words: surveysMessages,
  query: z.preprocess(withoutEmpty, surveyListQuery.safeExtend({ limit: queryInteger(1, 100).prefault(25) })),
  call: ({ query }) => [listSurveys(query)],
  view: ([[list]], { query, visit, words }) => {
    const rows: Survey[] = JSON.parse(list?.data ?? "[]");
    const columns: Column<Survey>[] = [
      {
        key: "title",
        label: words.columns.title,
        cell: ({ id, title }) => <a href={adminPath(visit, `/surveys/${id}`)}>{title}</a>,
      },
      {
        key: "status",
        label: words.columns.status,
        cell: ({ status }) => <SurveyStatus status={status} words={words} />,
      },
      {
        key: "responses",
        label: words.columns.responses,
        isNumber: true,
        cell: ({ response_count }) => formatNumber(response_count, visit.locale),
      },
      {
        key: "completion",
        label: words.columns.completion,
        isNumber: true,
        cell: ({ completion_rate }) => formatShare(completion_rate, visit.locale),
      },
      {
        key: "created",
        label: words.columns.created,
        cell: ({ created_at }) => <Day at={created_at} locale={visit.locale} />,
      },
      {
        key: "closes",
        label: words.columns.closes,
        cell: ({ closes_at }) => (closes_at ? <Day at={closes_at} locale={visit.locale} /> : "–"),
      },
    ];
    return {
      title: words.title,
      actions: (
        <a class="button main" href={adminPath(visit, "/surveys/new")}>
          <Icon name="plus" />
          {words.new}
        </a>
      ),
      content: (
        <>
          <nav class="tabs" aria-label={words.columns.status}>
            {[undefined, ...surveyStatus.options].map((status) => (
              <a
                href={hrefWith(visit, { status: status ?? null })}
                aria-current={query.status === status ? "page" : undefined}
              >
                {status ? words.statuses[status] : words.all}
              </a>
            ))}
          </nav>
          <DataTable
            id="surveys"
            caption={words.title}
            columns={columns}
            rows={rows}
            rowId={({ id }) => id}
            empty={
              query.status ? (
                <p>{words.noneOfStatus}</p>
              ) : (
                <>
                  <h2>{words.empty}</h2>
                  <p>{words.emptyText}</p>
                </>
              )
            }
            next={list ? nextCursor(list, "created_at", "desc") : null}
            visit={visit}
          />
        </>
      ),
    };
  },
});

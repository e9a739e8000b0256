import { queryInteger } from "../../../../../shared/pagination.ts";
import { surveyListQuery, surveyStatus } from "../../../../../shared/surveys.ts";
import { nextCursor } from "../../../../_shared/http/cursor.ts";
import { listSurveys } from "../../../../_shared/statements/surveys.ts";
import { DataTable, day, number } from "../../../components/admin/table.tsx";
import { Tabs } from "../../../components/admin/tabs.tsx";
import { Button } from "../../../components/button.tsx";
import { adminPath, hrefWith } from "../../../paths.ts";
import { adminPage } from "../admin-page.tsx";
import { formatShare, measured, SurveyStatus } from "./shared.tsx";

export const surveyList = adminPage({
  area: "surveys",
  query: surveyListQuery.safeExtend({ limit: queryInteger(1, 100).prefault(25) }),
  read: ({ query }) => [listSurveys(query)],
  view: ([list], { query, visit, words }) => ({
    title: words.title,
    actions: <Button kind="main" icon="plus" href={adminPath(visit, "/surveys/new")} label={words.new} />,
    content: (
      <>
        <Tabs
          label={words.columns.status}
          tabs={[undefined, ...surveyStatus.options].map((status) => ({
            href: hrefWith(visit, { status: status ?? null }),
            label: status ? words.statuses[status] : words.all,
            isHere: query.status === status,
          }))}
        />
        <DataTable
          id="surveys"
          caption={words.title}
          columns={[
            {
              label: words.columns.title,
              cell: ({ id, title }) => <a href={adminPath(visit, `/surveys/${id}`)}>{title}</a>,
            },
            { label: words.columns.status, cell: ({ status }) => <SurveyStatus status={status} /> },
            number("response_count", words.columns.responses),
            {
              label: words.columns.completion,
              isNumber: true,
              cell: ({ completion_rate, start_count }) =>
                formatShare(measured(completion_rate, start_count), visit.locale),
            },
            day("created_at", words.columns.created),
            day("closes_at", words.columns.closes),
          ]}
          rows={list.data}
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
          next={nextCursor(list, "created_at", "desc")}
        />
      </>
    ),
  }),
});

import { counter } from "../../plural.ts";

const count = counter("en");

export const en = {
  title: "Overview",
  time: "Time",
  days: count({ one: "# day", other: "# days" }),
  year: "12 months",
  otherTime: "Other time",
  from: "First day",
  to: "Last day",
  show: "Show",
  compared: (now: string, before: string) => `${now}, compared with ${before}`,
  totals: {
    submissions: "Submissions",
    votes: "Votes",
    comments: "Comments",
    active_people: "Active people",
  },
  reply: "First official answer",
  replied: count({ one: "median of # submission", other: "median of # submissions" }),
  unreplied: "none was answered",
  overTime: "Over time",
  intervals: {
    day: "Day",
    week: "Week from",
    month: "Month from",
  },
  movers: "Gained most votes",
  noMovers: "Nobody voted in this time.",
  submission: "Submission",
  status: "Status",
  category: "Category",
  source: "Source",
  votes: "Votes",
  gained: "Gained",
  byStatus: "Submissions by status",
  byCategory: "Submissions by category",
  bySource: "Submissions by source",
  noCategory: "Without category",
  noSource: "This site",
};

export type OverviewMessages = typeof en;

import { counter } from "../../plural.ts";
import type { OverviewMessages } from "./en.ts";

const count = counter("de");

export const de: OverviewMessages = {
  title: "Übersicht",
  time: "Zeitraum",
  days: count({ one: "# Tag", other: "# Tage" }),
  year: "12 Monate",
  otherTime: "Anderer Zeitraum",
  from: "Erster Tag",
  to: "Letzter Tag",
  show: "Zeigen",
  compared: (now: string, before: string) => `${now}, verglichen mit ${before}`,
  totals: {
    submissions: "Einreichungen",
    votes: "Stimmen",
    comments: "Kommentare",
    active_people: "Aktive Personen",
  },
  reply: "Erste offizielle Antwort",
  replied: count({ one: "Median von # Einreichung", other: "Median von # Einreichungen" }),
  unreplied: "keine wurde beantwortet",
  overTime: "Zeitverlauf",
  intervals: {
    day: "Tag",
    week: "Woche ab",
    month: "Monat ab",
  },
  movers: "Größter Stimmenzuwachs",
  noMovers: "In diesem Zeitraum hat niemand abgestimmt.",
  submission: "Einreichung",
  status: "Status",
  category: "Kategorie",
  source: "Quelle",
  votes: "Stimmen",
  gained: "Zuwachs",
  byStatus: "Einreichungen nach Status",
  byCategory: "Einreichungen nach Kategorie",
  bySource: "Einreichungen nach Quelle",
  noCategory: "Ohne Kategorie",
  noSource: "Diese Website",
};

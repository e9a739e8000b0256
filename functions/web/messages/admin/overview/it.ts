import { counter } from "../../plural.ts";
import type { OverviewMessages } from "./en.ts";

const count = counter("it");

export const it: OverviewMessages = {
  title: "Panoramica",
  time: "Periodo",
  days: count({ one: "# giorno", other: "# giorni" }),
  year: "12 mesi",
  otherTime: "Altro periodo",
  from: "Primo giorno",
  to: "Ultimo giorno",
  show: "Mostra",
  compared: (now: string, before: string) => `${now}, rispetto a ${before}`,
  totals: {
    submissions: "Segnalazioni",
    votes: "Voti",
    comments: "Commenti",
    active_people: "Persone attive",
  },
  reply: "Prima risposta ufficiale",
  replied: count({ one: "mediana di # segnalazione", other: "mediana di # segnalazioni" }),
  unreplied: "nessuna ha avuto risposta",
  overTime: "Andamento",
  intervals: {
    day: "Giorno",
    week: "Settimana dal",
    month: "Mese dal",
  },
  movers: "Più voti guadagnati",
  noMovers: "Nessuno ha votato in questo periodo.",
  submission: "Segnalazione",
  status: "Stato",
  category: "Categoria",
  source: "Fonte",
  votes: "Voti",
  gained: "Guadagnati",
  byStatus: "Segnalazioni per stato",
  byCategory: "Segnalazioni per categoria",
  bySource: "Segnalazioni per fonte",
  noCategory: "Senza categoria",
  noSource: "Questo sito",
};

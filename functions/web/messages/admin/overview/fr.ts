import { counter } from "../../plural.ts";
import type { OverviewMessages } from "./en.ts";

const count = counter("fr");

export const fr: OverviewMessages = {
  title: "Vue d’ensemble",
  time: "Période",
  days: count({ one: "# jour", other: "# jours" }),
  year: "12 mois",
  otherTime: "Autre période",
  from: "Premier jour",
  to: "Dernier jour",
  show: "Afficher",
  compared: (now: string, before: string) => `${now}, comparé à ${before}`,
  totals: {
    submissions: "Contributions",
    votes: "Votes",
    comments: "Commentaires",
    active_people: "Personnes actives",
  },
  reply: "Première réponse officielle",
  replied: count({ one: "médiane de # contribution", other: "médiane de # contributions" }),
  unreplied: "aucune n’a reçu de réponse",
  overTime: "Évolution",
  intervals: {
    day: "Jour",
    week: "Semaine du",
    month: "Mois du",
  },
  movers: "Plus forte progression",
  noMovers: "Personne n’a voté pendant cette période.",
  submission: "Contribution",
  status: "Statut",
  category: "Catégorie",
  source: "Source",
  votes: "Votes",
  gained: "Gagnés",
  byStatus: "Contributions par statut",
  byCategory: "Contributions par catégorie",
  bySource: "Contributions par source",
  noCategory: "Sans catégorie",
  noSource: "Ce site",
};

import { counter } from "../../plural.ts";
import type { InboxMessages } from "./en.ts";

const count = counter("de");

export const de: InboxMessages = {
  title: "Eingang",
  state: "Zustand",
  states: {
    pending: "Wartend",
    rejected: "Abgelehnt",
    spam: "Spam",
  },
  kind: "Art",
  kinds: {
    all: "Alle",
    submission: "Einreichungen",
    comment: "Kommentare",
  },
  count: count({ one: "# Eintrag", other: "# Einträge" }),
  emptyTitle: "Nichts wartet auf Sie",
  emptyText: "Neue Einreichungen und Kommentare, die eine Freigabe brauchen, erscheinen hier von selbst.",
  noneTitle: "Nichts vorhanden",
  choose: "Auswählen",
  bulk: "Alle auswählen",
  commentOn: "Kommentar zu",
  trusted: "Vertrauter Autor",
  untrusted: "Noch nicht vertraut",
  actions: {
    approve: "Freigeben",
    reject: "Ablehnen",
    spam: "Spam",
  },
  more: "Vertrauen und Grund",
  trust: "Was diese Person einreicht, braucht künftig keine Freigabe (beim Freigeben)",
  reason: "Grund, nur für das Prüfprotokoll",
  undo: "Rückgängig",
  keysOn: "Tastenkürzel",
  shortcuts: {
    next: "weiter",
    previous: "zurück",
    approve: "freigeben",
    reject: "ablehnen",
    spam: "als Spam markieren",
    choose: "auswählen",
    undo: "rückgängig",
  },
  done: {
    approve: count({ one: "# freigegeben.", other: "# freigegeben." }),
    reject: count({ one: "# abgelehnt.", other: "# abgelehnt." }),
    spam: count({ one: "# als Spam markiert.", other: "# als Spam markiert." }),
    reopen: count({ one: "# wartet wieder.", other: "# warten wieder." }),
  },
  changed: count({
    one: "# Text wurde geändert, nachdem Sie ihn gelesen haben. Lesen Sie unten die jetzige Fassung und entscheiden Sie erneut.",
    other:
      "# Texte wurden geändert, nachdem Sie sie gelesen haben. Lesen Sie unten die jetzigen Fassungen und entscheiden Sie erneut.",
  }),
  failed: count({
    one: "# Eintrag konnte nicht entschieden werden: Er ist fort, oder worauf er antwortet, ist nicht freigegeben.",
    other:
      "# Einträge konnten nicht entschieden werden: Sie sind fort, oder worauf sie antworten, ist nicht freigegeben.",
  }),
  succeeded: count({ one: "# anderer wurde entschieden.", other: "# andere wurden entschieden." }),
  decided: {
    approved: "Jemand anderes hat dies gerade freigegeben.",
    rejected: "Jemand anderes hat dies gerade abgelehnt.",
    spam: "Jemand anderes hat dies gerade als Spam markiert.",
    pending: "Jemand anderes hat dies gerade wieder auf Warten gesetzt.",
  },
};

import { counter } from "../../plural.ts";
import type { InboxMessages } from "./en.ts";

const count = counter("it");

export const it: InboxMessages = {
  title: "Posta in arrivo",
  state: "Stato",
  states: {
    pending: "In attesa",
    rejected: "Rifiutati",
    spam: "Spam",
  },
  kind: "Tipo",
  kinds: {
    all: "Tutto",
    submission: "Segnalazioni",
    comment: "Commenti",
  },
  count: count({ one: "# elemento", other: "# elementi" }),
  emptyTitle: "Niente in attesa",
  emptyText: "Le nuove segnalazioni e i commenti da approvare compaiono qui da soli.",
  noneTitle: "Niente qui",
  choose: "Scegli",
  bulk: "Seleziona tutto",
  commentOn: "Commento a",
  trusted: "Autore attendibile",
  untrusted: "Non ancora attendibile",
  actions: {
    approve: "Approva",
    reject: "Rifiuta",
    spam: "Spam",
  },
  more: "Fiducia e motivo",
  trust: "Ciò che pubblica questo autore non richiede più approvazione (approvando)",
  reason: "Motivo, solo per il registro di controllo",
  undo: "Annulla",
  keysOn: "Scorciatoie da tastiera",
  shortcuts: {
    next: "successivo",
    previous: "precedente",
    approve: "approva",
    reject: "rifiuta",
    spam: "segna come spam",
    choose: "scegli",
    undo: "annulla",
  },
  done: {
    approve: count({ one: "# approvato.", other: "# approvati." }),
    reject: count({ one: "# rifiutato.", other: "# rifiutati." }),
    spam: count({ one: "# segnato come spam.", other: "# segnati come spam." }),
    reopen: count({ one: "# di nuovo in attesa.", other: "# di nuovo in attesa." }),
  },
  changed: count({
    one: "# testo è stato modificato dopo la tua lettura. Leggi qui sotto la versione attuale e decidi di nuovo.",
    other:
      "# testi sono stati modificati dopo la tua lettura. Leggi qui sotto le versioni attuali e decidi di nuovo.",
  }),
  failed: count({
    one: "# non è stato deciso: non esiste più, o ciò a cui risponde non è approvato.",
    other: "# non sono stati decisi: non esistono più, o ciò a cui rispondono non è approvato.",
  }),
  succeeded: count({ one: "# altro è stato deciso.", other: "# altri sono stati decisi." }),
  decided: {
    approved: "Qualcun altro lo ha appena approvato.",
    rejected: "Qualcun altro lo ha appena rifiutato.",
    spam: "Qualcun altro lo ha appena segnato come spam.",
    pending: "Qualcun altro lo ha appena rimesso in attesa.",
  },
};

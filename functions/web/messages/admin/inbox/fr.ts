import { counter } from "../../plural.ts";
import type { InboxMessages } from "./en.ts";

const count = counter("fr");

export const fr: InboxMessages = {
  title: "Boîte de réception",
  state: "État",
  states: {
    pending: "En attente",
    rejected: "Refusés",
    spam: "Indésirables",
  },
  kind: "Type",
  kinds: {
    all: "Tout",
    submission: "Contributions",
    comment: "Commentaires",
  },
  count: count({ one: "# élément", other: "# éléments" }),
  emptyTitle: "Rien n’attend",
  emptyText: "Les nouvelles contributions et les commentaires à approuver apparaissent ici d’eux-mêmes.",
  noneTitle: "Rien ici",
  choose: "Choisir",
  bulk: "Tout sélectionner",
  commentOn: "Commentaire sur",
  trusted: "Auteur de confiance",
  untrusted: "Pas encore de confiance",
  actions: {
    approve: "Approuver",
    reject: "Refuser",
    spam: "Indésirable",
  },
  more: "Confiance et motif",
  trust: "Ce que publie cet auteur n’a plus besoin d’approbation (en approuvant)",
  reason: "Motif, pour le journal d’audit seulement",
  undo: "Annuler",
  keysOn: "Raccourcis clavier",
  shortcuts: {
    next: "suivant",
    previous: "précédent",
    approve: "approuver",
    reject: "refuser",
    spam: "marquer indésirable",
    choose: "choisir",
    undo: "annuler",
  },
  done: {
    approve: count({ one: "# approuvé.", other: "# approuvés." }),
    reject: count({ one: "# refusé.", other: "# refusés." }),
    spam: count({ one: "# marqué indésirable.", other: "# marqués indésirables." }),
    reopen: count({ one: "# attend à nouveau.", other: "# attendent à nouveau." }),
  },
  changed: count({
    one: "# texte a été modifié après votre lecture. Lisez la version actuelle ci-dessous et décidez à nouveau.",
    other:
      "# textes ont été modifiés après votre lecture. Lisez les versions actuelles ci-dessous et décidez à nouveau.",
  }),
  failed: count({
    one: "# n’a pas pu être traité : il n’existe plus, ou ce à quoi il répond n’est pas approuvé.",
    other:
      "# n’ont pas pu être traités : ils n’existent plus, ou ce à quoi ils répondent n’est pas approuvé.",
  }),
  succeeded: count({ one: "# autre a été traité.", other: "# autres ont été traités." }),
  decided: {
    approved: "Quelqu’un d’autre vient de l’approuver.",
    rejected: "Quelqu’un d’autre vient de le refuser.",
    spam: "Quelqu’un d’autre vient de le marquer indésirable.",
    pending: "Quelqu’un d’autre vient de le remettre en attente.",
  },
};

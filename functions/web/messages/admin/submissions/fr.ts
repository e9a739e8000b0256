import { counter } from "../../plural.ts";
import type { SubmissionsMessages } from "./en.ts";

const count = counter("fr");

export const fr: SubmissionsMessages = {
  title: "Contributions",
  submission: "Contribution",
  votes: "Votes",
  comments: "Commentaires",
  submitted: "Envoyée",
  tag: "Étiquette",
  none: "Essayez d’autres mots ou moins de filtres.",
  ofOneAuthor: "D’un auteur",
  bulk: "choisies : les modifier ensemble",
  chooseFirst: "Choisissez au moins une contribution dans le tableau.",
  set: "Définir",
  add: "Ajouter",
  remove: "Retirer",
  noCategory: "Sans catégorie",
  noteAndNotice: "Note et avis",
  note: "Note publique",
  notify: "Prévenir les abonnés",
  merge: "Fusionner…",
  delete: "Supprimer…",
  deleteTitle: "Supprimer des contributions",
  deleteText:
    "Cette action est définitive. Pour garder les votes, fusionnez-les plutôt avec une autre contribution.",
  deleteNow: count({ one: "Supprimer # contribution", other: "Supprimer # contributions" }),
  lostSubmissions: count({ one: "# contribution", other: "# contributions" }),
  lostVotes: count({ one: "# vote", other: "# votes" }),
  lostComments: count({ one: "# commentaire", other: "# commentaires" }),
  failed: count({
    one: "# contribution n’a pas été modifiée :",
    other: "# contributions n’ont pas été modifiées :",
  }),
  succeeded: count({ one: "# autre a été modifiée.", other: "# autres ont été modifiées." }),
  mergeTitle: "Fusionner des contributions",
  mergeText:
    "Choisissez la contribution qui reste. Les autres y sont versées avec leurs votes, commentaires et abonnés, et y mèneront désormais.",
  chosenOnes: "Choisies",
  others: "Autres",
  mergeSearch: "Chercher des contributions ou coller une adresse",
  into: "Dans celle-ci",
  mergeToo: "Fusionner aussi celle-ci",
  noCandidates: "Aucune ne ressemble. Cherchez par mots ou collez une adresse.",
  planned: count({ one: "# contribution est versée", other: "# contributions sont versées" }),
  intoThis: "Dans",
  makes: "Ce que cela donne",
  votesAfter: count({ one: "# vote en tout", other: "# votes en tout" }),
  votesTwice: count({
    one: "# second vote de la même personne ne compte pas",
    other: "# seconds votes des mêmes personnes ne comptent pas",
  }),
  commentsAfter: count({ one: "# commentaire en tout", other: "# commentaires en tout" }),
  tagsGained: "Étiquettes ajoutées",
  earlier: count({
    one: "# contribution déjà fusionnée suit",
    other: "# contributions déjà fusionnées suivent",
  }),
  told: count({ one: "# abonné est prévenu", other: "# abonnés sont prévenus" }),
  canUndo: "Cela peut être annulé sous « Fusionnées ».",
  mergeNow: count({ one: "Fusionner # contribution", other: "Fusionner # contributions" }),
  otherTarget: "En choisir une autre",
  merged: "Fusionnées",
  mergedText:
    "Ce qui a été fusionné dans une autre contribution. Séparer rend les votes, commentaires et étiquettes.",
  noneMerged: "Rien n’a encore été fusionné.",
  source: "Contribution fusionnée",
  target: "Versée dans",
  changed: "Modifiée",
  unmerge: "Séparer",
  similar: "Ressemblantes",
  similarText:
    "Parmi les plus récentes encore ouvertes : des contributions qui disent peut-être la même chose.",
  noneSimilar: "Il n’y en a pas deux qui se ressemblent.",
  alike: count({ one: "# ressemble", other: "Ces # se ressemblent" }),
  done: {
    set_status: count({
      one: "Statut défini pour # contribution.",
      other: "Statut défini pour # contributions.",
    }),
    set_category: count({
      one: "Catégorie définie pour # contribution.",
      other: "Catégorie définie pour # contributions.",
    }),
    add_tags: count({
      one: "Étiquette ajoutée à # contribution.",
      other: "Étiquette ajoutée à # contributions.",
    }),
    remove_tags: count({
      one: "Étiquette retirée de # contribution.",
      other: "Étiquette retirée de # contributions.",
    }),
    delete: count({ one: "# contribution supprimée.", other: "# contributions supprimées." }),
    merged: count({ one: "# contribution fusionnée.", other: "# contributions fusionnées." }),
    unmerged: "C’est de nouveau une contribution à part.",
  },
};

import type { GeneralMessages } from "./en.ts";

export const fr: GeneralMessages = {
  title: "Général",
  board: "Tableau",
  name: "Nom",
  slug: "Nom court",
  slugHint:
    "Le nom dans les adresses, comme /o/mon-tableau. Si vous le changez, les liens avec l’ancien ne fonctionnent plus.",
  visibility: "Visibilité",
  visibilityHint:
    "Quand un tableau devient privé, les personnes extérieures à l’équipe en perdent aussitôt l’accès.",
  visibilities: {
    public: "Public : tout le monde peut le lire",
    private: "Privé : seule l’équipe le voit",
  },
  indexing: "Les moteurs de recherche peuvent référencer les pages",
  indexingHint: "Ne compte que pour un tableau public.",
  language: "Langue par défaut",
  languageHint:
    "Des pages, pour les visiteurs dont ni le compte ni le navigateur n’indique l’une des huit langues.",
  timeZone: "Fuseau horaire",
  timeZoneHint: "Il détermine le début et la fin des jours de l’aperçu.",
  participation: "Participation à la vie du tableau",
  anonymous: "Les utilisateurs anonymes peuvent",
  anonymousHint: "Les utilisateurs qu’une application a connectés sans compte personnel.",
  rights: {
    read: "Lire",
    vote: "Lire, voter et suivre",
    participate: "Participer comme les autres",
  },
  approval: "Les nouveaux contenus doivent être approuvés",
  approvalHint:
    "Ce qu’écrivent les personnes extérieures à l’équipe attend dans la boîte qu’un administrateur l’approuve.",
  trustAfter: "Faire confiance après ce nombre d’approbations",
  trustAfterHint:
    "Les contenus de cet auteur n’ont plus besoin d’approbation. De 1 à 1000 ; vide pour jamais.",
  save: "Enregistrer",
  done: {
    saved: "Les paramètres sont enregistrés.",
  },
};

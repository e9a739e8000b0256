import type { MailSettingsMessages } from "./en.ts";

export const fr: MailSettingsMessages = {
  title: "E-mails",
  text: "Ce que chacun apprend par e-mail s’il ne choisit rien d’autre. Chacun choisit dans Paramètres, E-mails, ou par les liens de chaque message.",
  enabled: "Les personnes reçoivent des e-mails sur ce qui se passe ici",
  enabledHint: "Chacun choisit ce qu’il reçoit et peut tout arrêter.",
  usedUp:
    "Les e-mails du jour à des adresses non confirmées sont épuisés : les suivants iront dans le prochain résumé.",
  kinds: {
    status: "Un nouveau statut de ce qu’ils ont proposé ou suivent",
    official: "Une réponse officielle",
    reply: "Une réponse à leur commentaire",
    comment: "D’autres commentaires sur ce qu’ils suivent",
    survey: "Une enquête à laquelle l’équipe leur demande de répondre",
    team: "Pour l’équipe : les nouvelles contributions",
  },
  save: "Enregistrer",
  stopped: "Qui ne reçoit pas d’e-mails",
  stoppedText:
    "Les plus récents d’abord, 1 000 au plus. Les adresses ne sont gardées que hachées : cherchez-en une en entier.",
  email: "Adresse e-mail",
  find: "Chercher",
  name: "Nom",
  noAccount: "Sans compte",
  reason: "Raison",
  reasons: {
    refused: "Ne veut pas d’e-mails",
    bounced: "Le serveur les a refusés",
    complained: "Les a signalés comme indésirables",
  },
  since: "Depuis",
  nobody: "Personne.",
  notStopped: "Cette organisation n’a pas arrêté les e-mails à cette adresse.",
  lift: "Reprendre l’envoi",
  liftHint:
    "Seulement pour une boîte qui fonctionne de nouveau. Qui a refusé les e-mails change cela soi-même. Cherchez d’abord une adresse sans compte.",
  done: {
    saved: "Les paramètres sont enregistrés.",
    lifted: "L’envoi reprend.",
  },
};

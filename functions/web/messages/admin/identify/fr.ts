import type { IdentifyMessages } from "./en.ts";

export const fr: IdentifyMessages = {
  title: "Identification",
  text: "Les personnes connectées à votre propre application participent sans compte ici : votre backend signe un jeton sur son utilisateur, et le jeton devient une session.",
  secrets: "Secrets de signature",
  secretsText:
    "Deux au plus, afin d’en remplacer un pendant que l’autre fonctionne. Gardez-les sur votre serveur, jamais dans une page ou une application.",
  create: "Créer un secret de signature",
  secret: "Secret de signature",
  secretGone:
    "Il a été affiché à sa création et ne l’est plus. Si vous ne l’avez pas copié, supprimez-le et créez-en un autre.",
  created: "Créé",
  lastUse: "Dernière utilisation",
  unused: "Pas encore utilisé",
  actions: "Actions",
  empty: "Il n’y a pas encore de secret de signature.",
  remove: "Supprimer",
  removeTitle: "Supprimer le secret de signature",
  removeText: (x: string) => `Le secret qui se termine par ${x} est supprimé définitivement.`,
  removeSessions: "Les sessions de toutes les personnes connectées avec lui",
  removeTokens: "Les jetons que votre backend signe avec lui",
  test: "Tester un jeton",
  token: "Jeton",
  tokenHint: "Un jeton que votre backend a signé. Il n’est pas consommé et personne n’est connecté.",
  check: "Vérifier",
  valid: "Le jeton est valide.",
  signedWith: (x: string) => `Il est signé avec le secret qui se termine par ${x}.`,
  claims: "Ce que dit le jeton",
  examples: "Exemples de signature",
  examplesText: (x: string) =>
    `Définissez le secret comme FEEDBACK_SIGNING_SECRET. L’audience (aud) est ${x}.`,
  reasons: {
    malformed: "Ce n’est pas un JSON Web Token : trois parties reliées par des points.",
    algorithm: "Il doit être signé avec HS256.",
    audience: "Son aud doit être l’id ou le slug de cette organisation, et rien d’autre.",
    no_secret: "Il n’y a pas encore de secret de signature : créez-en un.",
    signature:
      "La signature est fausse : signez avec l’un des secrets ci-dessus, avec le texte entier tel qu’il a été affiché.",
    claims: "Des claims manquent ou sont faux.",
    expired: "Il a expiré (exp) : signez-en un à chaque connexion.",
    issued_in_future: "Son iat est dans le futur : réglez l’horloge de votre serveur.",
    not_yet_valid: "Son nbf est dans le futur.",
    lifetime: "Son exp doit être au plus une heure après son iat.",
    jti_missing: "Dans un lien, il lui faut un jti.",
    replayed: "Il a déjà servi : son jti ne vaut qu’une fois.",
    address_taken: "Une autre personne (sub) a cette adresse.",
    private_board: "Le tableau est privé : seule son équipe peut se connecter.",
  },
  done: {
    removed: "Le secret de signature est supprimé.",
  },
};

import type { SetupMessages } from "./en.ts";

export const fr: SetupMessages = {
  title: "Configurer cette installation",
  intro: "Créez la première organisation et le compte de son propriétaire.",
  token: "Jeton de configuration",
  tokenHint: "npm start l’affiche. Sur un serveur, c’est la valeur de SETUP_TOKEN.",
  tokenWrong: "Ce n’est pas le jeton de cette installation.",
  owner: "Votre compte",
  signedInAs: (name: string) => `Vous êtes connecté en tant que ${name} et devenez le propriétaire.`,
  organization: "Organisation",
  name: "Nom de l’organisation",
  slug: "Nom court dans les adresses",
  slugHint: "Minuscules, chiffres et traits d’union, par exemple acme.",
  visibility: "Qui voit le tableau",
  visibilities: { public: "Tout le monde", private: "Seulement l’équipe" },
  submit: "Créer l’organisation",
  welcome: "Votre tableau est prêt",
  welcomeText: "Ce que les équipes font ensuite :",
  steps: {
    board: "Regarder votre tableau",
    general: "Choisir le nom, le fuseau horaire et l’approbation",
    apiKeys: "Créer une clé d’API pour votre backend",
    people: "Inviter votre équipe",
    surveys: "Interroger par un sondage",
    import: "Apporter des retours d’ailleurs",
  },
};

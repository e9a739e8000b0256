import type { SetupMessages } from "./en.ts";

export const de: SetupMessages = {
  title: "Diese Installation einrichten",
  intro: "Legen Sie die erste Organisation und das Konto ihrer Inhaberin oder ihres Inhabers an.",
  token: "Einrichtungs-Token",
  tokenHint: "npm start zeigt es an. Auf einem Server ist es der Wert von SETUP_TOKEN.",
  tokenWrong: "Das ist nicht das Token dieser Installation.",
  owner: "Ihr Konto",
  signedInAs: (name: string) => `Sie sind als ${name} angemeldet und werden Inhaber.`,
  organization: "Organisation",
  name: "Name der Organisation",
  slug: "Kurzname in Adressen",
  slugHint: "Kleinbuchstaben, Ziffern und Bindestriche, etwa acme.",
  visibility: "Wer das Board sieht",
  visibilities: { public: "Alle", private: "Nur das Team" },
  submit: "Organisation anlegen",
  welcome: "Ihr Board ist bereit",
  welcomeText: "Was Teams als Nächstes tun:",
  steps: {
    board: "Sehen Sie sich Ihr Board an",
    general: "Name, Zeitzone und Freigabe wählen",
    apiKeys: "Einen API-Schlüssel für Ihr Backend anlegen",
    people: "Ihr Team einladen",
    surveys: "Mit einer Umfrage fragen",
    import: "Feedback von anderswo holen",
  },
};

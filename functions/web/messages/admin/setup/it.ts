import type { SetupMessages } from "./en.ts";

export const it: SetupMessages = {
  title: "Configura questa installazione",
  intro: "Crea la prima organizzazione e l’account del suo proprietario.",
  token: "Token di configurazione",
  tokenHint: "npm start lo mostra. Su un server è il valore di SETUP_TOKEN.",
  tokenWrong: "Questo non è il token di questa installazione.",
  owner: "Il tuo account",
  signedInAs: (name: string) => `Hai effettuato l’accesso come ${name} e diventi il proprietario.`,
  organization: "Organizzazione",
  name: "Nome dell’organizzazione",
  slug: "Nome breve negli indirizzi",
  slugHint: "Minuscole, cifre e trattini, per esempio acme.",
  visibility: "Chi vede la bacheca",
  visibilities: { public: "Tutti", private: "Solo la squadra" },
  submit: "Crea l’organizzazione",
  welcome: "La tua bacheca è pronta",
  welcomeText: "Che cosa fanno poi le squadre:",
  steps: {
    board: "Guarda la tua bacheca",
    general: "Scegli nome, fuso orario e approvazione",
    apiKeys: "Crea una chiave API per il tuo backend",
    people: "Invita la tua squadra",
    surveys: "Chiedi con un sondaggio",
    import: "Porta feedback da altrove",
  },
};

import type { GeneralMessages } from "./en.ts";

export const it: GeneralMessages = {
  title: "Generali",
  board: "Bacheca",
  name: "Nome",
  slug: "Nome breve",
  slugHint:
    "Il nome negli indirizzi, come /o/mia-bacheca. Se lo cambia, i link con quello vecchio smettono di funzionare.",
  visibility: "Visibilità",
  visibilityHint: "Quando una bacheca diventa privata, chi non è nel team perde subito l’accesso.",
  visibilities: {
    public: "Pubblica: tutti possono leggerla",
    private: "Privata: la vede solo il team",
  },
  indexing: "I motori di ricerca possono elencare le pagine",
  indexingHint: "Vale solo per una bacheca pubblica.",
  language: "Lingua predefinita",
  languageHint:
    "Delle pagine, per i visitatori il cui account e browser non indicano nessuna delle otto lingue.",
  timeZone: "Fuso orario",
  timeZoneHint: "Determina l’inizio e la fine dei giorni nel riepilogo.",
  participation: "Partecipazione",
  anonymous: "Gli utenti anonimi possono",
  anonymousHint: "Utenti che un’app ha fatto accedere senza un account proprio.",
  rights: {
    read: "Leggere",
    vote: "Leggere, votare e seguire",
    participate: "Partecipare come gli altri",
  },
  approval: "I nuovi contenuti richiedono approvazione",
  approvalHint: "Quello che scrive chi non è nel team aspetta in arrivo finché un amministratore lo approva.",
  trustAfter: "Fiducia dopo questo numero di approvazioni",
  trustAfterHint: "I contenuti di quell’autore non richiedono più approvazione. Da 1 a 1000; vuoto per mai.",
  save: "Salva",
  done: {
    saved: "Le impostazioni sono salvate.",
  },
};

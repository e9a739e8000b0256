import type { IdentifyMessages } from "./en.ts";

export const it: IdentifyMessages = {
  title: "Identificazione",
  text: "Chi ha eseguito l’accesso alla vostra applicazione partecipa qui senza account: il vostro backend firma un token sul proprio utente, e il token diventa una sessione.",
  secrets: "Segreti di firma",
  secretsText:
    "Al massimo due, per sostituirne uno mentre l’altro funziona. Conservateli sul vostro server, mai in una pagina o in un’app.",
  create: "Crea un segreto di firma",
  secret: "Segreto di firma",
  secretGone:
    "È stato mostrato alla creazione e non viene mostrato di nuovo. Se non è stato copiato, eliminatelo e createne un altro.",
  created: "Creato",
  lastUse: "Ultimo uso",
  unused: "Non ancora usato",
  actions: "Azioni",
  empty: "Non c’è ancora nessun segreto di firma.",
  remove: "Elimina",
  removeTitle: "Elimina il segreto di firma",
  removeText: (x: string) => `Il segreto che termina con ${x} viene eliminato definitivamente.`,
  removeSessions: "Le sessioni di tutti coloro che hanno avuto accesso con esso",
  removeTokens: "I token che il vostro backend firma con esso",
  test: "Prova un token",
  token: "Token",
  tokenHint: "Un token firmato dal vostro backend. Non viene consumato e nessuno esegue l’accesso.",
  check: "Verifica",
  valid: "Il token è valido.",
  signedWith: (x: string) => `È firmato con il segreto che termina con ${x}.`,
  claims: "Che cosa dice il token",
  examples: "Esempi di firma",
  examplesText: (x: string) =>
    `Impostate il segreto come FEEDBACK_SIGNING_SECRET. Il destinatario (aud) è ${x}.`,
  reasons: {
    malformed: "Non è un JSON Web Token: tre parti unite da punti.",
    algorithm: "Deve essere firmato con HS256.",
    audience: "Il suo aud deve essere l’id o lo slug di questa organizzazione, e solo quello.",
    no_secret: "Non c’è ancora nessun segreto di firma: createne uno.",
    signature:
      "La firma è errata: firmate con uno dei segreti qui sopra, con l’intero testo com’è stato mostrato.",
    claims: "Mancano dei claim o sono errati.",
    expired: "È scaduto (exp): firmatene uno per ogni accesso.",
    issued_in_future: "Il suo iat è nel futuro: regolate l’orologio del vostro server.",
    not_yet_valid: "Il suo nbf è nel futuro.",
    lifetime: "Il suo exp deve essere al massimo un’ora dopo il suo iat.",
    jti_missing: "In un link gli serve un jti.",
    replayed: "È già stato usato: il suo jti vale una volta.",
    address_taken: "Un’altra persona (sub) ha questo indirizzo.",
    private_board: "La bacheca è privata: solo il suo team può accedere.",
  },
  done: {
    removed: "Il segreto di firma è stato eliminato.",
  },
};

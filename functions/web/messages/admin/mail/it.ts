import type { MailSettingsMessages } from "./en.ts";

export const it: MailSettingsMessages = {
  title: "E-mail",
  text: "Che cosa si riceve per e-mail se non si sceglie altro. Ognuno sceglie in Impostazioni, E-mail, o con i link di ogni e-mail.",
  enabled: "Le persone ricevono e-mail su ciò che accade qui",
  enabledHint: "Ognuno sceglie che cosa ricevere e può smettere.",
  usedUp:
    "Le e-mail di oggi a indirizzi non confermati sono esaurite: le altre andranno nel prossimo riepilogo.",
  kinds: {
    status: "Un nuovo stato di ciò che hanno inviato o seguono",
    official: "Una risposta ufficiale",
    reply: "Una risposta al loro commento",
    comment: "Altri commenti su ciò che seguono",
    survey: "Un sondaggio a cui il team chiede di rispondere",
    team: "Per il team: nuove segnalazioni",
  },
  save: "Salva",
  stopped: "Chi non riceve e-mail",
  stoppedText:
    "Prima le più recenti, al massimo 1000. Gli indirizzi sono salvati solo come hash: cerca l’indirizzo completo.",
  email: "Indirizzo e-mail",
  find: "Cerca",
  name: "Nome",
  noAccount: "Senza account",
  reason: "Motivo",
  reasons: {
    refused: "Non vuole e-mail",
    bounced: "Il server le ha rifiutate",
    complained: "Le ha segnalate come spam",
  },
  since: "Da",
  nobody: "Nessuno.",
  notStopped: "Questa organizzazione non ha fermato le e-mail a questo indirizzo.",
  lift: "Invia di nuovo",
  liftHint:
    "Solo per una casella che funziona di nuovo. Chi ha rifiutato le e-mail lo cambia da sé. Cerca prima l’indirizzo se è senza account.",
  done: {
    saved: "Le impostazioni sono salvate.",
    lifted: "Riceve di nuovo le e-mail.",
  },
};

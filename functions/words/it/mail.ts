import type { MailTexts } from "../en/mail.ts";
import { counter } from "../plural.ts";

const count = counter("it");

export const mail: MailTexts = {
  mail: {
    newStatus: (status) => `Nuovo stato: ${status}`,
    replyBy: (name) => `${name} ha risposto al tuo commento`,
    submittedBy: (name) => `Inviata da ${name}`,
    open: "Apri la proposta",
    openBoard: "Apri la bacheca",
    digest: (organization) => `Novità da ${organization}`,
    digestText: count({ one: "# novità su ciò che segui", other: "# novità su ciò che segui" }),
    team: (organization) => `Nuove proposte per ${organization}`,
    teamText: count({ one: "# nuova proposta", other: "# nuove proposte" }),
    more: count({ one: "E # altra sulla bacheca.", other: "E altre # sulla bacheca." }),
    why: (organization) => `Ricevi questa e-mail perché partecipi alle proposte di ${organization}.`,
    whyTeam: (organization) => `Ricevi questa e-mail perché fai parte del team di ${organization}.`,
    whyAuthor: (organization) =>
      `${organization} ci ha dato il tuo indirizzo insieme a un tuo feedback. Puoi fermare tutte le sue e-mail con un clic.`,
    invite: (organization) => `Invito nel team di ${organization}`,
    invites: (name, organization) => `${name} ti invita nel team di ${organization}`,
    inviteUntil: (day) =>
      `Accedi con questo indirizzo o crea un account con esso. L’invito è valido fino al ${day}.`,
    whyInvite: (organization) =>
      `Il team di ${organization} ha inserito questo indirizzo per invitarti. Se non sai perché, non fare nulla.`,
    refuseText: (organization) => `${organization} non manderà più nulla a questo indirizzo, nemmeno inviti.`,
    unsubscribe: "Non ricevere più e-mail di questo tipo",
    mute: "Non ricevere più e-mail su questa proposta",
    choose: "Scegli quali e-mail ricevere",
    chooseOrStop: "Scegli quali e-mail ricevere, o fermale tutte",
    title: "E-mail",
    intro: (organization) => `Quali e-mail ti invia ${organization}.`,
    disabled: (organization) =>
      `${organization} al momento non invia e-mail. Quello che scegli varrà quando lo farà.`,
    otherComments: "Altri commenti su ciò che segui",
    teamSummary: "Riepilogo delle nuove proposte",
    choices: { at_once: "Subito", daily: "Ogni giorno", weekly: "Ogni settimana", never: "Mai" },
    stop: (organization) => `Ferma tutte le e-mail di ${organization}`,
    stopped: (organization) => `Non ricevi e-mail da ${organization}.`,
    bounced:
      "Il tuo server di posta ha rifiutato le nostre e-mail, quindi non ne inviamo. Avvisa il team se la situazione è cambiata.",
    resume: "Ricevi di nuovo e-mail",
    muted: "Nessuna e-mail su",
    unmute: "Ricevi di nuovo e-mail",
    muteThis: "Non ricevere più e-mail su questa proposta?",
    unsubscribeTitle: "Non ricevere più e-mail di questo tipo?",
    unsubscribeText: (kind, organization) => `${organization} ti invia: ${kind}.`,
    digests: "Riepiloghi",
    unsubscribeNow: "Non ricevere più",
    accountsText:
      "Qualcuno ha inserito qui il tuo indirizzo. L’account creato con esso viene eliminato e per 90 giorni non ricevi e-mail su account che altri creano con esso. Se hai un tuo account, non cambia nulla.",
    accountsStopped:
      "Fatto: non riceverai più e-mail su account che altri creano con il tuo indirizzo. Se vuoi tu un account qui, prima ricevi di nuovo le e-mail.",
    unsubscribed: "Fatto: non riceverai più e-mail di questo tipo.",
    newSurvey: (organization) => `${organization} chiede la tua opinione`,
    surveyReminder: (organization) => `${organization} spera ancora nella tua risposta`,
    answerSurvey: "Rispondi al sondaggio",
    surveys: "Sondaggi",
    claim: "Hai un account? Fai tuo questo feedback",
  },
  authMail: {
    code: "Il tuo codice:",
    hint: "Inseriscilo dove viene richiesto oppure usa il pulsante. Entrambi valgono una sola volta e per poco tempo.",
    hintCode: "Inseriscilo dove viene richiesto. Vale una sola volta e per poco tempo.",
    ignore: "Non l’hai chiesto tu? Allora non fare nulla: senza il codice e il pulsante non cambia nulla.",
    why: "Ricevi questa email perché riguarda la sicurezza del tuo account.",
    stop: "Non sono stato io: basta e-mail di questo tipo",
    undo: "Annulla la modifica",
    undoHint: (site) =>
      `Non sei stato tu? Allora annulla: per una settimana questo link chiude tutte le sessioni e ti fa scegliere una nuova password. Avvisa anche chi gestisce ${site}.`,
    notYou: (site) =>
      `Non sei stato tu? Allora scegli subito una nuova password e avvisa chi gestisce ${site}.`,
    names: { totp: "App di autenticazione", phone: "Telefono", webauthn: "Passkey", email: "Email" },
    signup: {
      subject: "Conferma il tuo indirizzo",
      text: "Qualcuno, probabilmente tu, vuole un account con questo indirizzo. Se sei tu, conferma che l’indirizzo è tuo.",
      act: "Conferma l’indirizzo",
    },
    magiclink: {
      subject: "Accedi",
      text: "Qualcuno, probabilmente tu, vuole accedere con questo indirizzo.",
      act: "Accedi",
    },
    recovery: {
      subject: "Scegli una nuova password",
      text: "Qualcuno, probabilmente tu, ha chiesto una nuova password per questo indirizzo.",
      act: "Scegli una nuova password",
    },
    email_change: {
      subject: "Conferma il tuo nuovo indirizzo",
      text: "Qualcuno, probabilmente tu, ha scelto questo indirizzo per un account. Se sei tu, conferma che l’indirizzo è tuo.",
      act: "Conferma l’indirizzo",
    },
    email_change_current: {
      subject: "Conferma il cambio del tuo indirizzo",
      text: "Qualcuno, probabilmente tu, vuole un altro indirizzo per il tuo account. Cambierà quando entrambi gli indirizzi l’avranno confermato. Da allora i codici e le altre email arriveranno solo al nuovo.",
      act: "Conferma il cambio",
    },
    invite: {
      subject: "Hai ricevuto un invito",
      text: "Qualcuno ha creato un account per questo indirizzo.",
      act: "Accetta l’invito",
    },
    reauthentication: {
      subject: "Conferma che sei tu",
      text: "Qualcuno, probabilmente tu, sta cambiando qualcosa di importante nel tuo account.",
    },
    password_changed_notification: {
      subject: "La tua password è stata cambiata",
      text: "Il tuo account ha una nuova password.",
    },
    email_changed_notification: {
      subject: "L’indirizzo del tuo account è stato cambiato",
      text: "L’indirizzo che riceve questa email non è più quello del tuo account. I codici e le altre email arrivano ora al nuovo.",
    },
    phone_changed_notification: {
      subject: "Il tuo numero di telefono è stato cambiato",
      text: "Il tuo account ha un nuovo numero di telefono.",
    },
    identity_linked_notification: {
      subject: "C’è un nuovo modo di accedere",
      text: "Al tuo account è stato aggiunto un modo di accedere.",
    },
    identity_unlinked_notification: {
      subject: "Un modo di accedere è stato rimosso",
      text: "Non è più possibile accedere al tuo account in questo modo.",
    },
    mfa_factor_enrolled_notification: {
      subject: "Un secondo fattore è stato aggiunto",
      text: "L’accesso al tuo account richiede ora un passaggio in più.",
    },
    mfa_factor_unenrolled_notification: {
      subject: "Un secondo fattore è stato rimosso",
      text: "L’accesso al tuo account non richiede più questo fattore.",
    },
  },
};

import type { MailTexts } from "../en/mail.ts";
import { counter } from "../plural.ts";

const count = counter("de");

export const mail: MailTexts = {
  mail: {
    newStatus: (status) => `Neuer Status: ${status}`,
    replyBy: (name) => `${name} hat auf Ihren Kommentar geantwortet`,
    submittedBy: (name) => `Eingereicht von ${name}`,
    open: "Beitrag öffnen",
    openBoard: "Board öffnen",
    digest: (organization) => `Neues von ${organization}`,
    digestText: count({
      one: "# Neuigkeit zu dem, was Sie verfolgen",
      other: "# Neuigkeiten zu dem, was Sie verfolgen",
    }),
    team: (organization) => `Neues Feedback für ${organization}`,
    teamText: count({ one: "# neuer Beitrag", other: "# neue Beiträge" }),
    more: count({ one: "Und # weitere auf dem Board.", other: "Und # weitere auf dem Board." }),
    why: (organization) =>
      `Sie erhalten diese E-Mail, weil Sie sich am Feedback von ${organization} beteiligen.`,
    whyTeam: (organization) => `Sie erhalten diese E-Mail, weil Sie zum Team von ${organization} gehören.`,
    whyAuthor: (organization) =>
      `${organization} hat uns Ihre Adresse zusammen mit Feedback von Ihnen gegeben. Sie können alle E-Mails mit einem Klick abbestellen.`,
    invite: (organization) => `Einladung in das Team von ${organization}`,
    invites: (name, organization) => `${name} lädt Sie in das Team von ${organization} ein`,
    inviteUntil: (day) =>
      `Melden Sie sich mit dieser Adresse an, oder legen Sie damit ein Konto an. Die Einladung gilt bis ${day}.`,
    whyInvite: (organization) =>
      `Das Team von ${organization} hat diese Adresse eingegeben, um Sie einzuladen. Wenn Sie nicht wissen, warum, müssen Sie nichts tun.`,
    refuseText: (organization) =>
      `${organization} schickt dann nichts mehr an diese Adresse, auch keine Einladungen.`,
    unsubscribe: "Keine E-Mails dieser Art mehr",
    mute: "Keine E-Mails mehr zu diesem Beitrag",
    choose: "Auswählen, welche E-Mails Sie erhalten",
    chooseOrStop: "Auswählen, welche E-Mails Sie erhalten, oder alle abbestellen",
    title: "E-Mails",
    intro: (organization) => `Welche E-Mails ${organization} Ihnen sendet.`,
    disabled: (organization) =>
      `${organization} sendet zurzeit keine E-Mails. Ihre Auswahl gilt, sobald sich das ändert.`,
    otherComments: "Andere Kommentare zu dem, was Sie verfolgen",
    teamSummary: "Zusammenfassung neuer Beiträge",
    choices: { at_once: "Sofort", daily: "Täglich", weekly: "Wöchentlich", never: "Nie" },
    stop: (organization) => `Alle E-Mails von ${organization} abbestellen`,
    stopped: (organization) => `Sie erhalten keine E-Mails von ${organization}.`,
    bounced:
      "Ihr Mailserver hat unsere E-Mails abgelehnt, deshalb senden wir keine. Fragen Sie das Team, wenn sich das geändert hat.",
    resume: "Wieder E-Mails erhalten",
    muted: "Keine E-Mails zu",
    unmute: "Wieder E-Mails erhalten",
    muteThis: "Keine E-Mails mehr zu diesem Beitrag?",
    unsubscribeTitle: "Keine E-Mails dieser Art mehr?",
    unsubscribeText: (kind, organization) => `${organization} sendet Ihnen: ${kind}.`,
    digests: "Zusammenfassungen",
    unsubscribeNow: "Abbestellen",
    accountsText:
      "Jemand hat hier Ihre Adresse angegeben. Das Konto, das damit angelegt wurde, wird gelöscht, und 90 Tage lang erhalten Sie keine E-Mails zu Konten, die andere mit Ihrer Adresse anlegen. Ein eigenes Konto bleibt, wie es ist.",
    accountsStopped:
      "Erledigt: Sie erhalten keine E-Mails mehr zu Konten, die andere mit Ihrer Adresse anlegen. Möchten Sie hier selbst ein Konto, lassen Sie zuerst wieder E-Mails zu.",
    unsubscribed: "Erledigt: Sie erhalten keine E-Mails dieser Art mehr.",
    newSurvey: (organization) => `${organization} bittet um Ihre Meinung`,
    surveyReminder: (organization) => `${organization} hofft noch auf Ihre Antwort`,
    answerSurvey: "Umfrage beantworten",
    surveys: "Umfragen",
    claim: "Haben Sie ein Konto? Übernehmen Sie dieses Feedback",
  },
  authMail: {
    code: "Ihr Code:",
    hint: "Geben Sie ihn dort ein, wo danach gefragt wird, oder nehmen Sie die Schaltfläche. Beides gilt nur einmal und nur kurze Zeit.",
    hintCode: "Geben Sie ihn dort ein, wo danach gefragt wird. Er gilt nur einmal und nur kurze Zeit.",
    ignore:
      "Sie haben das nicht angefordert? Dann tun Sie nichts: Ohne Code und Schaltfläche ändert sich nichts.",
    why: "Sie erhalten diese Mail, weil es um die Sicherheit Ihres Kontos geht.",
    stop: "Das war ich nicht: keine solchen E-Mails mehr",
    undo: "Änderung rückgängig machen",
    undoHint: (site) =>
      `Das waren nicht Sie? Dann machen Sie es rückgängig: Eine Woche lang meldet dieser Link alle ab und lässt Sie ein neues Passwort wählen. Sagen Sie auch den Betreibern von ${site} Bescheid.`,
    notYou: (site) =>
      `Das waren nicht Sie? Dann wählen Sie sofort ein neues Passwort, und sagen Sie den Betreibern von ${site} Bescheid.`,
    names: { totp: "Authenticator-App", phone: "Telefon", webauthn: "Passkey", email: "E-Mail" },
    signup: {
      subject: "Bestätigen Sie Ihre Adresse",
      text: "Jemand, wahrscheinlich Sie, möchte ein Konto mit dieser Adresse. Wenn Sie es waren, bestätigen Sie, dass die Adresse Ihnen gehört.",
      act: "Adresse bestätigen",
    },
    magiclink: {
      subject: "Anmelden",
      text: "Jemand, wahrscheinlich Sie, möchte sich mit dieser Adresse anmelden.",
      act: "Anmelden",
    },
    recovery: {
      subject: "Neues Passwort wählen",
      text: "Jemand, wahrscheinlich Sie, hat für diese Adresse ein neues Passwort angefordert.",
      act: "Neues Passwort wählen",
    },
    email_change: {
      subject: "Bestätigen Sie Ihre neue Adresse",
      text: "Jemand, wahrscheinlich Sie, hat diese Adresse für ein Konto gewählt. Wenn Sie es waren, bestätigen Sie, dass die Adresse Ihnen gehört.",
      act: "Adresse bestätigen",
    },
    email_change_current: {
      subject: "Bestätigen Sie die Änderung Ihrer Adresse",
      text: "Jemand, wahrscheinlich Sie, möchte für Ihr Konto eine andere Adresse. Sie gilt, sobald beide Adressen das bestätigt haben. Codes und andere Mails gehen dann nur noch an die neue.",
      act: "Änderung bestätigen",
    },
    invite: {
      subject: "Sie sind eingeladen",
      text: "Jemand hat für diese Adresse ein Konto angelegt.",
      act: "Einladung annehmen",
    },
    reauthentication: {
      subject: "Bestätigen Sie, dass Sie es sind",
      text: "Jemand, wahrscheinlich Sie, ändert etwas Wichtiges an Ihrem Konto.",
    },
    password_changed_notification: {
      subject: "Ihr Passwort wurde geändert",
      text: "Ihr Konto hat ein neues Passwort.",
    },
    email_changed_notification: {
      subject: "Die Adresse Ihres Kontos wurde geändert",
      text: "Die Adresse, an die diese Mail ging, gehört nicht mehr zu Ihrem Konto. Codes und andere Mails gehen jetzt an die neue.",
    },
    phone_changed_notification: {
      subject: "Ihre Telefonnummer wurde geändert",
      text: "Ihr Konto hat eine neue Telefonnummer.",
    },
    identity_linked_notification: {
      subject: "Es gibt einen neuen Weg, sich anzumelden",
      text: "Zu Ihrem Konto ist eine Möglichkeit zur Anmeldung dazugekommen.",
    },
    identity_unlinked_notification: {
      subject: "Ein Weg, sich anzumelden, wurde entfernt",
      text: "Auf diese Weise kann man sich bei Ihrem Konto nicht mehr anmelden.",
    },
    mfa_factor_enrolled_notification: {
      subject: "Ein zweiter Faktor wurde hinzugefügt",
      text: "Die Anmeldung bei Ihrem Konto braucht jetzt einen Schritt mehr.",
    },
    mfa_factor_unenrolled_notification: {
      subject: "Ein zweiter Faktor wurde entfernt",
      text: "Bei der Anmeldung an Ihrem Konto wird dieser Faktor nicht mehr verlangt.",
    },
  },
};

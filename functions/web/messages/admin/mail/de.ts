import type { MailSettingsMessages } from "./en.ts";

export const de: MailSettingsMessages = {
  title: "E-Mail",
  text: "Was Personen per E-Mail erfahren, solange sie nichts anderes wählen. Alle wählen selbst, unter Einstellungen, E-Mail oder über die Links in jeder E-Mail.",
  enabled: "Personen erhalten E-Mails über das Geschehen hier",
  enabledHint: "Alle wählen selbst, was sie erhalten, und können es abstellen.",
  usedUp:
    "Die E-Mails an unbestätigte Adressen sind für heute aufgebraucht: weitere kommen in die nächste Zusammenfassung.",
  kinds: {
    status: "Ein neuer Status von Eingereichtem oder Gefolgtem",
    official: "Eine offizielle Antwort",
    reply: "Eine Antwort auf ihren Kommentar",
    comment: "Weitere Kommentare zu dem, dem sie folgen",
    survey: "Eine Umfrage, um deren Beantwortung das Team bittet",
    team: "Für das Team: neue Einreichungen",
  },
  save: "Speichern",
  stopped: "Wer keine E-Mails erhält",
  stoppedText:
    "Neueste zuerst, höchstens 1.000. Adressen sind nur als Hash gespeichert: Suchen Sie nach der vollständigen Adresse.",
  email: "E-Mail-Adresse",
  find: "Nachsehen",
  name: "Name",
  noAccount: "Ohne Konto",
  reason: "Grund",
  reasons: {
    refused: "Möchte keine E-Mails",
    bounced: "Der Mailserver hat sie abgelehnt",
    complained: "Hat sie als Spam gemeldet",
  },
  since: "Seit",
  nobody: "Niemand.",
  notStopped: "E-Mails an diese Adresse sind von dieser Organisation nicht gestoppt.",
  lift: "Wieder senden",
  liftHint:
    "Nur für ein Postfach, das wieder funktioniert. Wer E-Mails abbestellt hat, ändert das selbst. Eine Adresse ohne Konto suchen Sie zuerst.",
  done: {
    saved: "Die Einstellungen sind gespeichert.",
    lifted: "Die Person erhält wieder E-Mails.",
  },
};

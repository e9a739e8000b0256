import type { IdentifyMessages } from "./en.ts";

export const de: IdentifyMessages = {
  title: "Identifizieren",
  text: "Wer in Ihrer eigenen Anwendung angemeldet ist, macht hier ohne Konto mit: Ihr Backend signiert ein Token über seinen Benutzer, und aus dem Token wird eine Sitzung.",
  secrets: "Signaturgeheimnisse",
  secretsText:
    "Höchstens zwei, damit Sie eines ersetzen können, während das andere gilt. Bewahren Sie sie auf Ihrem Server auf, nie in einer Seite oder App.",
  create: "Signaturgeheimnis erstellen",
  secret: "Signaturgeheimnis",
  secretGone:
    "Es wurde beim Erstellen gezeigt und wird nicht noch einmal gezeigt. Wenn Sie es nicht kopiert haben, löschen Sie es und erstellen Sie ein anderes.",
  created: "Erstellt",
  lastUse: "Zuletzt verwendet",
  unused: "Noch nicht verwendet",
  actions: "Aktionen",
  empty: "Es gibt noch kein Signaturgeheimnis.",
  remove: "Löschen",
  removeTitle: "Signaturgeheimnis löschen",
  removeText: (x: string) => `Das Geheimnis mit der Endung ${x} wird endgültig gelöscht.`,
  removeSessions: "Die Sitzungen aller, die damit angemeldet wurden",
  removeTokens: "Die Token, die Ihr Backend damit signiert",
  test: "Token prüfen",
  token: "Token",
  tokenHint:
    "Ein Token, das Ihr Backend signiert hat. Es wird nicht verbraucht, und niemand wird angemeldet.",
  check: "Prüfen",
  valid: "Das Token ist gültig.",
  signedWith: (x: string) => `Es ist mit dem Geheimnis mit der Endung ${x} signiert.`,
  claims: "Was das Token sagt",
  examples: "Beispiele zum Signieren",
  examplesText: (x: string) =>
    `Setzen Sie das Geheimnis als FEEDBACK_SIGNING_SECRET. Die Zielgruppe (aud) ist ${x}.`,
  reasons: {
    malformed: "Es ist kein JSON Web Token: drei Teile, mit Punkten verbunden.",
    algorithm: "Es muss mit HS256 signiert sein.",
    audience: "Sein aud muss die ID oder der Slug dieser Organisation sein, und nur das.",
    no_secret: "Es gibt noch kein Signaturgeheimnis: Erstellen Sie eines.",
    signature:
      "Die Signatur ist falsch: Signieren Sie mit einem der Geheimnisse oben, mit dem ganzen Text, wie er gezeigt wurde.",
    claims: "Claims fehlen oder sind falsch.",
    expired: "Es ist abgelaufen (exp): Signieren Sie für jede Anmeldung eines.",
    issued_in_future: "Sein iat liegt in der Zukunft: Stellen Sie die Uhr Ihres Servers.",
    not_yet_valid: "Sein nbf liegt in der Zukunft.",
    lifetime: "Sein exp darf höchstens eine Stunde nach seinem iat liegen.",
    jti_missing: "In einem Link braucht es eine jti.",
    replayed: "Es wurde schon verwendet: Seine jti gilt einmal.",
    address_taken: "Eine andere Person (sub) hat diese Adresse.",
    private_board: "Das Board ist privat: Nur sein Team kann sich anmelden.",
  },
  done: {
    removed: "Das Signaturgeheimnis ist gelöscht.",
  },
};

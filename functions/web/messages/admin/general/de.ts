import type { GeneralMessages } from "./en.ts";

export const de: GeneralMessages = {
  title: "Allgemein",
  board: "Board",
  name: "Name",
  slug: "Kurzname",
  slugHint:
    "Der Name in Adressen, etwa /o/mein-board. Wenn Sie ihn ändern, funktionieren Links mit dem alten nicht mehr.",
  visibility: "Sichtbarkeit",
  visibilityHint: "Wird ein Board privat, verlieren alle außerhalb des Teams sofort den Zugang.",
  visibilities: {
    public: "Öffentlich: alle können lesen",
    private: "Privat: nur das Team sieht es",
  },
  indexing: "Suchmaschinen dürfen die Seiten aufführen",
  indexingHint: "Gilt nur für ein öffentliches Board.",
  language: "Standardsprache",
  languageHint: "Der Seiten, für Besucher, deren Konto und Browser keine der acht Sprachen nennen.",
  timeZone: "Zeitzone",
  timeZoneHint: "Danach beginnen und enden die Tage der Übersicht.",
  participation: "Beteiligung",
  anonymous: "Anonyme dürfen",
  anonymousHint: "Nutzer, die eine App ohne eigenes Konto angemeldet hat.",
  rights: {
    read: "Lesen",
    vote: "Lesen, abstimmen und folgen",
    participate: "Sich wie andere Nutzer beteiligen",
  },
  approval: "Neue Inhalte brauchen eine Freigabe",
  approvalHint: "Was andere als das Team schreiben, wartet im Eingang, bis ein Admin es freigibt.",
  trustAfter: "Vertrauen nach so vielen Freigaben",
  trustAfterHint: "Inhalte dieser Person brauchen dann keine Freigabe mehr. 1 bis 1000; leer für nie.",
  save: "Speichern",
  done: {
    saved: "Die Einstellungen sind gespeichert.",
  },
};

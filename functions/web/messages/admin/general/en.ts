export const en = {
  title: "General",
  board: "Board",
  name: "Name",
  slug: "Slug",
  slugHint:
    "The name in addresses, such as /o/my-board. If you change it, links with the old one stop working.",
  visibility: "Visibility",
  visibilityHint: "When a board becomes private, everybody outside the team loses access to it at once.",
  visibilities: {
    public: "Public: everybody can read it",
    private: "Private: only the team can see it",
  },
  indexing: "Search engines may list the pages",
  indexingHint: "Applies to public boards only.",
  language: "Default language",
  languageHint: "For visitors whose account and browser use none of the eight languages.",
  timeZone: "Time zone",
  timeZoneHint: "Where the days of the overview begin and end.",
  participation: "Participation",
  anonymous: "Anonymous users may",
  anonymousHint: "Users whom an app signed in without an account.",
  rights: {
    read: "Read",
    vote: "Read, vote and follow",
    participate: "Participate like other users",
  },
  approval: "New content needs approval",
  approvalHint: "Content of people outside the team is not public until an admin approves it in the inbox.",
  trustAfter: "Trust after this many approvals",
  trustAfterHint: "Content of a trusted author needs no approval. 1 to 1000; empty: never.",
  save: "Save",
  done: {
    saved: "The settings are saved.",
  },
};

export type GeneralMessages = typeof en;

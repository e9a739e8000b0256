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
  indexingHint: "Counts for a public board only.",
  language: "Default language",
  languageHint: "Of the pages, for visitors whose account and browser name none of the eight languages.",
  timeZone: "Time zone",
  timeZoneHint: "Where the days of the overview begin and end.",
  participation: "Participation",
  anonymous: "Anonymous users may",
  anonymousHint: "Users that an app signed in without an account of their own.",
  rights: {
    read: "Read",
    vote: "Read, vote and follow",
    participate: "Participate like other users",
  },
  approval: "New content needs approval",
  approvalHint: "What people outside the team write waits in the inbox until an admin approves it.",
  trustAfter: "Trust after this many approvals",
  trustAfterHint: "Content of such an author needs no approval any more. 1 to 1000; empty for never.",
  save: "Save",
  done: {
    saved: "The settings are saved.",
  },
};

export type GeneralMessages = typeof en;

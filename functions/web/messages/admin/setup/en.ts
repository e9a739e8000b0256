/** The first visit to a new installation. */
export const en = {
  title: "Set up this installation",
  intro: "Create the first organization and the account of its owner.",
  token: "Setup token",
  tokenHint: "npm start prints it. On a server it is the value of SETUP_TOKEN.",
  tokenWrong: "This is not the token of this installation.",
  owner: "Your account",
  signedInAs: (name: string) => `You are signed in as ${name} and become the owner.`,
  organization: "Organization",
  name: "Name of the organization",
  slug: "Short name in addresses",
  slugHint: "Lowercase letters, digits and hyphens, such as acme.",
  visibility: "Who sees the board",
  visibilities: { public: "Everybody", private: "Only the team" },
  submit: "Create the organization",
  welcome: "Your board is ready",
  welcomeText: "What teams do next:",
  steps: {
    board: "Look at your board",
    general: "Choose name, time zone and approval",
    apiKeys: "Create an API key for your backend",
    people: "Invite your team",
    surveys: "Ask with a survey",
    import: "Bring feedback from elsewhere",
  },
};

export type SetupMessages = typeof en;

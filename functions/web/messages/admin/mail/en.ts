export const en = {
  title: "Mail",
  text: "What people hear by mail, unless they choose otherwise. Everybody chooses for themselves under Settings, Mail, or by the links in each mail.",
  enabled: "People get mail of what happens here",
  enabledHint: "Everybody chooses for themselves what they get and can stop it.",
  kinds: {
    status: "A new status of what they submitted or follow",
    official: "An official answer",
    reply: "A reply to their comment",
    comment: "Other comments on what they follow",
    survey: "A survey that the team asks them to answer",
    team: "For the team: new submissions",
  },
  save: "Save",
  stopped: "Who gets no mail",
  stoppedText:
    "Newest first, at most 1,000. Addresses are kept as hashes only: look one up by its complete address.",
  email: "E-mail address",
  find: "Look up",
  name: "Name",
  noAccount: "No account",
  reason: "Reason",
  reasons: {
    refused: "They want no mail",
    bounced: "Their mail server refused it",
    complained: "They reported it as spam",
  },
  since: "Since",
  nobody: "Nobody.",
  notStopped: "Mail to this address is not stopped by this organization.",
  lift: "Send again",
  liftHint:
    "Only for a mailbox that works again. Whoever refused mail changes that themselves. Look an address without an account up first.",
  done: {
    saved: "The settings are saved.",
    lifted: "They get mail again.",
  },
};

export type MailSettingsMessages = typeof en;

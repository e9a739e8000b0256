export const en = {
  title: "Mail",
  text: "Which mail people get by default. They can change it under Settings, Mail, and by the links in each mail.",
  enabled: "Send mail to people",
  enabledHint: "Everyone can choose which mail they get, or stop it.",
  usedUp: "Today’s mails to unconfirmed addresses are used up: further ones go into the next digest.",
  kinds: {
    status: "A new status of what they submitted or follow",
    official: "An official answer",
    reply: "A reply to their comment",
    comment: "Other comments on what they follow",
    survey: "A survey that the team asks them to answer",
    team: "For the team: new submissions",
  },
  save: "Save",
  stopped: "Stopped mail",
  stoppedText:
    "Newest first, at most 1,000. Addresses are kept as hashes only: look one up by its complete address.",
  email: "E-mail address",
  find: "Look up",
  name: "Name",
  noAccount: "No account",
  reason: "Reason",
  reasons: {
    refused: "Unsubscribed from all mail",
    bounced: "Rejected by their mail server",
    complained: "Reported as spam",
  },
  since: "Since",
  nobody: "Nobody.",
  notStopped: "Mail to this address is not stopped by this organization.",
  lift: "Send again",
  liftHint:
    "Only for a mailbox that works again. People who unsubscribed can resume mail only themselves. For a person without an account, look up the address first.",
  done: {
    saved: "The settings are saved.",
    lifted: "Mail to this address is sent again.",
  },
};

export type MailSettingsMessages = typeof en;

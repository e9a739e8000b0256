import { counter } from "../plural.ts";

const count = counter("en");

/** Texts of mails, and of the page where people choose them. */
export const mail = {
  mail: {
    newStatus: (status: string) => `New status: ${status}`,
    replyBy: (name: string) => `${name} replied to your comment`,
    submittedBy: (name: string) => `Submitted by ${name}`,
    open: "Open the submission",
    openBoard: "Open the board",
    digest: (organization: string) => `News from ${organization}`,
    digestText: count({
      one: "# update on what you follow",
      other: "# updates on what you follow",
    }),
    team: (organization: string) => `New feedback for ${organization}`,
    teamText: count({ one: "# new submission", other: "# new submissions" }),
    more: count({ one: "And # more on the board.", other: "And # more on the board." }),
    why: (organization: string) => `You get this because you take part in the feedback of ${organization}.`,
    whyTeam: (organization: string) => `You get this because you are on the team of ${organization}.`,
    whyAuthor: (organization: string) =>
      `${organization} gave us your address together with feedback from you. You can stop all its mail with one click.`,
    invite: (organization: string) => `Invite to the team of ${organization}`,
    invites: (name: string, organization: string) => `${name} invites you to the team of ${organization}`,
    inviteUntil: (day: string) =>
      `Sign in with this address, or create an account with it. The invite is valid until ${day}.`,
    whyInvite: (organization: string) =>
      `The team of ${organization} entered this address to invite you. If you did not expect this, ignore this mail.`,
    refuseText: (organization: string) =>
      `${organization} will send nothing more to this address, invites included.`,
    unsubscribe: "No more mail of this kind",
    mute: "No more mail about this submission",
    choose: "Choose which mail you get",
    chooseOrStop: "Choose which mail you get, or stop all of it",
    title: "Mail",
    intro: (organization: string) => `Which mail ${organization} sends you.`,
    disabled: (organization: string) =>
      `${organization} sends no mail at the moment. Your choices apply when it does.`,
    otherComments: "Other comments on what you follow",
    teamSummary: "Summary of new feedback",
    choices: { at_once: "At once", daily: "Daily", weekly: "Weekly", never: "Never" },
    stop: (organization: string) => `Stop all mail from ${organization}`,
    stopped: (organization: string) => `You get no mail from ${organization}.`,
    bounced:
      "Your mail server rejected our mail, so we stopped sending it. If that has changed, tell the team.",
    resume: "Get mail again",
    muted: "No mail about",
    unmute: "Get mail again",
    muteThis: "No more mail about this submission?",
    unsubscribeTitle: "No more mail of this kind?",
    unsubscribeText: (kind: string, organization: string) => `${organization} sends you: ${kind}.`,
    digests: "Digests",
    unsubscribeNow: "Unsubscribe",
    accountsText:
      "Somebody entered your address here. The account that was made with it is deleted, and for 90 days you get no mails about accounts that others make with it. An account of your own stays as it is.",
    accountsStopped:
      "Done: you get no more mails about accounts that others make with your address. If you want an account here yourself, choose to get mail again first.",
    unsubscribed: "Done: you get no more mail of this kind.",
    newSurvey: (organization: string) => `${organization} asks for your opinion`,
    surveyReminder: (organization: string) => `${organization} still hopes for your answer`,
    answerSurvey: "Answer the survey",
    surveys: "Surveys",
    claim: "Have an account? Make this feedback yours",
  },
  authMail: {
    code: "Your code:",
    hint: "Enter it where you are asked for it, or use the button. Both work once, and only for a short time.",
    hintCode: "Enter it where you are asked for it. It works once, and only for a short time.",
    ignore: "If you did not ask for this, ignore this mail: nothing changes without the code or the button.",
    why: "You get this mail because it is about the safety of your account.",
    stop: "This was not me: no more such mails",
    undo: "Undo the change",
    undoHint: (site: string) =>
      `Was it not you? Then undo it: for a week, this link signs everybody out and lets you choose a new password. Also tell the people who run ${site}.`,
    notYou: (site: string) =>
      `Was it not you? Then choose a new password at once, and tell the people who run ${site}.`,
    names: { totp: "Authenticator app", phone: "Phone", webauthn: "Passkey", email: "E-mail" },
    signup: {
      subject: "Confirm your address",
      text: "Somebody, probably you, wants an account with this address. If it was you, confirm that the address is yours.",
      act: "Confirm the address",
    },
    magiclink: {
      subject: "Sign in",
      text: "Somebody, probably you, wants to sign in with this address.",
      act: "Sign in",
    },
    recovery: {
      subject: "Choose a new password",
      text: "Somebody, probably you, asked for a new password for this address.",
      act: "Choose a new password",
    },
    email_change: {
      subject: "Confirm your new address",
      text: "Somebody, probably you, chose this address for an account. If it was you, confirm that the address is yours.",
      act: "Confirm the address",
    },
    email_change_current: {
      subject: "Confirm the change of your address",
      text: "Somebody, probably you, wants another address for your account. It changes when both addresses have confirmed it. From then on, codes and other mails go to the new one only.",
      act: "Confirm the change",
    },
    invite: {
      subject: "You are invited",
      text: "Somebody created an account for this address.",
      act: "Accept the invitation",
    },
    reauthentication: {
      subject: "Confirm that it is you",
      text: "Somebody, probably you, is changing something important in your account.",
    },
    password_changed_notification: {
      subject: "Your password was changed",
      text: "Your account has a new password.",
    },
    email_changed_notification: {
      subject: "The address of your account was changed",
      text: "Your account no longer has the address that this mail went to. Codes and other mails now go to the new one.",
    },
    phone_changed_notification: {
      subject: "Your phone number was changed",
      text: "Your account has a new phone number.",
    },
    identity_linked_notification: {
      subject: "There is a new way to sign in",
      text: "A way to sign in was added to your account.",
    },
    identity_unlinked_notification: {
      subject: "A way to sign in was removed",
      text: "Signing in to your account this way is no longer possible.",
    },
    mfa_factor_enrolled_notification: {
      subject: "A second factor was added",
      text: "Signing in to your account now takes one more step.",
    },
    mfa_factor_unenrolled_notification: {
      subject: "A second factor was removed",
      text: "Signing in to your account no longer asks for this factor.",
    },
  },
};

export type MailTexts = typeof mail;

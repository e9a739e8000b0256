/**
 * Errors of the API that a page shows in words of its own: the API's message, and the text of the page. The other errors have the
 * text of their code, and in English the API's message.
 */
export const errors = {
  "Another organization has or had this slug. Choose a different one.": "Another organization has or had this slug. Choose a different one.",
  "Another category has this slug. Choose a different one.": "Another category has this slug. Choose a different one.",
  "Another tag has this slug. Choose a different one.": "Another tag has this slug. Choose a different one.",
  "Someone with this email address has already voted, and each person counts once.": "Someone with your email address has already voted. Each person counts once.",
  "Only approved comments can be replied to.": "You can only reply to approved comments.",
  "Approve the comment it replies to first.": "Approve the comment it replies to first.",
  "Other submissions are merged into this one. Undo those merges first.": "Other submissions are merged into this one. Undo those merges first.",
  "Only approved submissions can be merged. Approve this one first.": "Only approved submissions can be merged. Approve this one first.",
  "The closing time is in the past. Choose a later one.": "The closing time is in the past. Choose a later one.",
  "A survey without questions cannot be published. Add a question first.": "Add a question before you publish the survey.",
  "An organization needs at least one owner. Make someone else an owner first.": "An organization needs at least one owner. Make someone else an owner first.",
  "Only an owner can make someone an owner or change an owner's role.": "Only an owner can make someone an owner or change an owner’s role.",
  "This person is already a team member.": "This person is already on the team.",
  "This invite was accepted. Remove the member instead.": "This invite was accepted. Remove the member instead.",
  "This person is on the team. Remove them from the team first.": "This person is on the team. Remove them from the team first.",
  "This person unsubscribed or reported spam. Only they can resume emails.": "This person unsubscribed or reported spam. Only they can resume emails.",
  "The organization does not send emails. Turn them on first (mail_enabled).": "Your organization doesn’t send emails. Turn them on in the email settings first.",
  "An organization can have at most two signing secrets. Delete one first.": "You can have at most two signing secrets. Delete one first.",
  "This webhook is disabled. Enable it first.": "This endpoint is paused. Resume it first.",
  "This key was revoked or has expired. Create a new one.": "This key was revoked or has expired. Create a new one.",
  "Five imports are already running. Wait for one to finish, or cancel one.": "Five imports are already running. Wait for one to finish, or cancel one.",
  "Without an account you can read and vote here. Sign up to do more.": "Without an account, you can read and vote here. Sign up to do more.",
  "Without an account you can only read here. Sign up to take part.": "Without an account, you can only read here. Sign up to take part.",
  "This session has ended. Sign in again.": "Your session has ended. Sign in again.",
  "This form came from another site. Open the page here and try again.": "This form came from another site. Open the page here and try again.",
};

export type ErrorTexts = Record<keyof typeof errors, string>;

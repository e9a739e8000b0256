import { counter } from "../../plural.ts";

const count = counter("en");

export const en = {
  title: "Inbox",
  state: "State",
  states: {
    pending: "Pending",
    rejected: "Rejected",
    spam: "Spam",
  },
  kind: "Kind",
  kinds: {
    all: "All",
    submission: "Submissions",
    comment: "Comments",
  },
  count: count({ one: "# item", other: "# items" }),
  emptyTitle: "Nothing is pending",
  emptyText: "New submissions and comments that need approval appear here by themselves.",
  noneTitle: "Nothing here",
  choose: "Choose",
  bulk: "Select all",
  commentOn: "Comment on",
  trusted: "Trusted author",
  untrusted: "Not trusted yet",
  actions: {
    approve: "Approve",
    reject: "Reject",
    spam: "Spam",
  },
  more: "Trust and reason",
  trust: "Trust this author: no approval from now on (applies with Approve)",
  reason: "Reason, for the audit trail only",
  undo: "Undo",
  keysOn: "Keyboard shortcuts",
  shortcuts: {
    next: "next",
    previous: "previous",
    approve: "approve",
    reject: "reject",
    spam: "mark as spam",
    choose: "choose",
    undo: "undo",
  },
  done: {
    approve: count({ one: "# approved.", other: "# approved." }),
    reject: count({ one: "# rejected.", other: "# rejected." }),
    spam: count({ one: "# marked as spam.", other: "# marked as spam." }),
    reopen: count({ one: "# is pending again.", other: "# are pending again." }),
  },
  changed: count({
    one: "# text was changed after you read it. Read the present one below and decide again.",
    other: "# texts were changed after you read them. Read the present ones below and decide again.",
  }),
  failed: count({
    one: "# could not be decided: it is gone, or what it replies to is not approved.",
    other: "# could not be decided: they are gone, or what they reply to is not approved.",
  }),
  succeeded: count({ one: "# other was decided.", other: "# others were decided." }),
  decided: {
    approved: "Somebody else approved it just now.",
    rejected: "Somebody else rejected it just now.",
    spam: "Somebody else marked it as spam just now.",
    pending: "Somebody else made it pending again just now.",
  },
};

export type InboxMessages = typeof en;

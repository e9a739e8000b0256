/** Of a submission or comment, the same in a page and in a broadcast: it tells whether one has what the other says. */
export const versionOf = ({ updated_at = "", moderation_state = "" }: Versioned) =>
  `${Date.parse(updated_at)} ${moderation_state}`;

type Versioned = { updated_at?: string; moderation_state?: string };

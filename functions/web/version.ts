/** Version of a submission or comment, to compare a page with a broadcast. */
export const versionOf = ({ updated_at = "", moderation_state = "" }: Versioned) =>
  `${Date.parse(updated_at)} ${moderation_state}`;

type Versioned = { updated_at?: string; moderation_state?: string };

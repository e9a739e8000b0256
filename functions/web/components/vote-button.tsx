import { formatCount, isLong } from "../format.ts";
import { personForm } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import { Icon } from "./icon.tsx";

type Props = {
  /** The target of the vote: `/submissions/<id>` or `/comments/<id>`. */
  path: string;
  votes: number;
  hasVoted: boolean;
  /** The redirect target; by default the current page. */
  returnTo?: string;
  class?: string;
};

/** Votes or removes the vote: a form with one button. Its label ends with the count, which islands update. */
export const VoteButton = ({ path, votes, hasVoted, returnTo, class: look = "vote" }: Props) => {
  const visit = useVisit();
  const { messages, locale } = visit;
  const label = hasVoted ? messages.votes.unvote : messages.votes.vote;
  const count = formatCount(votes, locale);
  return (
    <form
      class="vote-form"
      {...personForm(visit, `${path}/vote`)}
      id={`vote-${path.split("/").at(-1)}`}
      // An anonymous visitor leaves the frame to sign in.
      data-turbo-frame={visit.isSignedIn ? undefined : "_top"}
    >
      {hasVoted && <input type="hidden" name="_method" value="delete" />}
      {returnTo && <input type="hidden" name="return_to" value={returnTo} />}
      <button
        type="submit"
        class={look}
        aria-pressed={hasVoted ? "true" : "false"}
        aria-label={`${label}${messages.words.colon}${count}`}
      >
        <Icon name="chevron-up" />
        <span class={isLong(count) ? "number long" : "number"}>{count}</span>
      </button>
    </form>
  );
};

import { Fragment } from "hono/jsx";
import { withLinks } from "../links.ts";

/** Text of people: paragraphs and lines as they typed them, web addresses as links that search engines give no weight. */
export const LinkedText = ({ text }: { text: string }) => (
  <div class="text">
    {text.split(/\n\s*\n/).map((paragraph) => (
      <p dir="auto">
        {withLinks(paragraph).map(({ part, isLink }) =>
          isLink ? (
            <a class="link" href={part} rel="nofollow ugc noopener">
              {part}
            </a>
          ) : (
            <Fragment>{part}</Fragment>
          ),
        )}
      </p>
    ))}
  </div>
);

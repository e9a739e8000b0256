import type { ApiError } from "../_shared/http/api-error.ts";
import type { ApiResponse } from "../_shared/http/endpoint.ts";
import type { Frame } from "../_shared/statements/pages.ts";
import { pageResponse } from "./page.tsx";
import { problemOf } from "./problems.ts";
import { contentSecurityPolicy } from "./security.ts";
import type { Visit } from "./visit.ts";

/** An error as a page: what happened, and what to do. Without a frame, it shows nothing from the database. */
export function errorPage(
  answer: ApiResponse,
  error: ApiError | undefined,
  requestId: string,
  visit: Visit,
  {
    text: ownText,
    isFramed,
    frame = { organization: null, viewer: null },
  }: {
    frame?: Frame;
    /** Replaces the text of the error code. */
    text?: string;
    /** Whether the page that failed is for frames on other sites. */
    isFramed?: boolean;
  },
): ApiResponse {
  const { errors } = visit.messages;
  const problem = error && problemOf(error, visit);
  const wait = Number(error?.extra.retry_after) || 1;
  const [title, text] =
    answer.status === 404
      ? [errors.notFound, errors.notFoundText]
      : answer.status === 401 || answer.status === 403
        ? [errors.forbidden, errors.forbiddenText]
        : answer.status === 429
          ? [errors.tooMany, errors.tooManyText(wait)]
          : answer.status >= 500
            ? [errors.failed, errors.failedText(requestId)]
            : [errors.refused, problem?.message ?? ""];
  const content = (
    <section class="error-page">
      <p class="error-code">{answer.status}</p>
      <h1>{title}</h1>
      <p>{ownText ?? text}</p>
      {!visit.isEmbedded && (
        <a class="button" href={`${visit.base}/`}>
          {errors.back}
        </a>
      )}
      {visit.isEmbedded && visit.base && (
        <a class="button" href={`/embed${visit.base}`} target="_self">
          {errors.back}
        </a>
      )}
    </section>
  );
  const page = pageResponse({ title, content, status: answer.status }, { frame, visit, params: {} });
  // Any site may frame it, because the organization's allowed origins are not known: it has no data and no form.
  const framing = isFramed && { "Content-Security-Policy": contentSecurityPolicy(["*"]) };
  return { ...page, headers: { ...answer.headers, ...page.headers, ...framing } };
}

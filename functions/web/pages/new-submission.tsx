import { z } from "zod";
import { submissionCreate } from "../../../shared/submissions.ts";
import { lengthOf } from "../../../shared/text.ts";
import { notFound } from "../../_shared/http/api-error.ts";
import { submissionPage } from "../../_shared/http/web-pages.ts";
import {
  createdSubmission,
  createSubmission,
  requireUnlike,
  type Similar,
  similarSubmissions,
} from "../../_shared/statements/submissions.ts";
import { listTaxonomy } from "../../_shared/statements/taxonomy.ts";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { Status } from "../components/status.tsx";
import { VoteButton } from "../components/vote-button.tsx";
import { page, plain, seeOther } from "../page.tsx";
import { personLink, submissionLink, submissionPath, withQuery } from "../paths.ts";
import { useVisit } from "../rendering.ts";
import type { Visit } from "../visit.ts";
import { CategoryField } from "./edit-submission.tsx";

const mostSimilar = 5;

export const newSubmission = page({
  path: "/new",
  ofOrganization: true,
  isEmbeddable: true,
  read: ({ locale, visit }) => [
    listTaxonomy(undefined, "categories", locale),
    similarSubmissions(
      typed(visit, "title").trim().slice(0, 200),
      typed(visit, "description").trim().slice(0, 5000),
      mostSimilar,
      { hasVoted: visit.isSignedIn },
    ),
  ],
  view: ([categories, found], { visit }) => {
    const { nav, submit, types } = visit.messages;
    const type = typed(visit, "type") || "idea";
    return {
      title: nav.submit,
      section: "new",
      description: submit.intro,
      content: (
        <div class="form-page">
          <h1>{nav.submit}</h1>
          <p class="quiet">{submit.intro}</p>
          <Form
            class="card stack"
            island="draft"
            id="new"
            hasProblem={found.length === 0}
            isOnce
            returnTo={personLink(visit, `${visit.base}/new`).href}
          >
            <fieldset class="types">
              <legend>{submit.type}</legend>
              {(["idea", "problem"] as const).map((name) => (
                <label class="type">
                  <input type="radio" name="type" value={name} checked={type === name} required />
                  <span>
                    <b>{types[name]}</b>
                    <span class="quiet small">{submit[name]}</span>
                  </span>
                </label>
              ))}
            </fieldset>
            <div data-island="similar" data-path={personLink(visit, `${visit.base}/new/similar`).href} id="title-field">
              <Field name="title" label={submit.title} hint={submit.titleHint} value={typed(visit, "title")} />
              <a class="link similar-link" href="#similar" hidden={found.length === 0}>
                {submit.similar}
              </a>
            </div>
            <Field
              name="description"
              label={submit.description}
              hint={submit.descriptionHint(lengthOf(submissionCreate.shape.description).min)}
              value={typed(visit, "description")}
              rows={7}
            />
            <CategoryField categories={categories} value={typed(visit, "category_id")} />
            <div class="buttons">
              <Button
                kind="main"
                name={found.length > 0 ? "checked" : undefined}
                value={found.length > 0 ? "true" : undefined}
              >
                {found.length > 0 ? submit.sendAnyway : submit.send}
              </Button>
              {!visit.isSignedIn && <span class="quiet small">{submit.signIn}</span>}
            </div>
          </Form>
          <turbo-frame id="similar" class="similar">
            <SimilarOnes found={found} />
          </turbo-frame>
        </div>
      ),
    };
  },
  actions: [
    // `checked` means that the author has seen the similar submissions.
    plain({
      method: "post",
      path: "/new",
      access: "person",
      operation: "submission_create",
      body: submissionCreate.extend({ checked: z.boolean().default(false) }).meta({ id: "NewSubmissionForm" }),
      call: ({ newId, body }) => [
        requireUnlike(body.title, body.description, body.checked),
        createSubmission(newId, body, false),
        createdSubmission(newId, submissionPage(newId)),
      ],
      respond: ([, , [created]], { newId, body, visit }) => {
        if (!created) throw notFound("submission");
        const path = personLink(visit, submissionPath(newId, body.title)).href;
        // The parameter tells the widget that a submission was sent.
        return seeOther(visit.isEmbedded ? withQuery(path, "done=submission") : path);
      },
    }),
  ],
});

/** Input of the rejected form, or from before a sign-in. */
const typed = ({ refused }: Visit, name: string) => refused?.typed.get(name) ?? "";

/** The part of the page that changes with the title, for the island. */
export const similarToNew = page({
  path: "/new/similar",
  ofOrganization: true,
  isEmbeddable: true,
  operation: "duplicate_check",
  query: z.object({ title: z.string().max(200).optional() }),
  read: ({ query, visit }) => [
    similarSubmissions(query?.title?.trim() ?? "", null, mostSimilar, { hasVoted: visit.isSignedIn }),
  ],
  view: ([found], { visit }) => ({
    title: visit.messages.submit.similar,
    content: (
      <turbo-frame id="similar" class="similar">
        <SimilarOnes found={found} returnTo={visit.path + (visit.query.size > 0 ? `?${visit.query}` : "")} />
      </turbo-frame>
    ),
  }),
});

/** Similar submissions, each with a vote button, which leads to `returnTo`, by default to the submission. */
const SimilarOnes = ({ found, returnTo }: { found: Similar[]; returnTo?: string }) => {
  const visit = useVisit();
  return found.length > 0 ? (
    <section class="stack" aria-labelledby="similar-heading" role="status">
      <div>
        <h2 id="similar-heading">{visit.messages.submit.similar}</h2>
        <p class="quiet">{visit.messages.submit.similarText}</p>
      </div>
      <ul class="list">
        {found.map(({ id, title, status, vote_count, has_voted }) => (
          <li class="row">
            <VoteButton
              path={`/submissions/${id}`}
              votes={vote_count}
              hasVoted={has_voted ?? false}
              returnTo={visit.isSignedIn && returnTo ? returnTo : personLink(visit, submissionPath(id, title)).href}
            />
            <div class="row-text">
              <h3 dir="auto">
                <a {...submissionLink(visit, id, title)} target={visit.isEmbedded ? "_self" : "_top"}>
                  {title}
                </a>
              </h3>
              <div class="facts">
                <Status status={status} />
              </div>
            </div>
          </li>
        ))}
      </ul>
    </section>
  ) : null;
};

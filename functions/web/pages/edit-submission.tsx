import { z } from "zod";
import { shortArrayOf, slug } from "../../../shared/fields.ts";
import type { SubmissionDetail } from "../../../shared/submissions.ts";
import { ApiError, forbidden } from "../../_shared/http/api-error.ts";
import { changeMany } from "../../_shared/statements/moderation.ts";
import { parsed } from "../../_shared/statements/shapes.ts";
import { submissionDetail } from "../../_shared/statements/submissions.ts";
import { listTaxonomy } from "../../_shared/statements/taxonomy.ts";
import { submissions } from "../../endpoints/submissions.ts";
import { Button } from "../components/button.tsx";
import { Field } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { action, endpointOf, page, plain, seeOther } from "../page.tsx";
import { isAdmin, personLink, submissionPath } from "../paths.ts";
import { useRendering, useVisit } from "../rendering.ts";

type Label = { id: string; name: string; slug: string };

/** Edits a submission, for its author and admins; admins also see the fields that only they may change. */
export const editSubmission = page({
  path: "/submissions/:id/edit",
  access: "person",
  isEmbeddable: true,
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  read: ({ params, locale }) => [
    submissionDetail(params.id, ["author"], locale),
    listTaxonomy({ submissionId: params.id }, "categories", locale),
    listTaxonomy({ submissionId: params.id }, "tags", locale),
  ],
  view: ([submission, categories, tags], { visit }, frame) => {
    if (!isAdmin(frame) && submission.author?.id !== frame.viewer?.id)
      throw forbidden("Only its author and the organization's admins can edit a submission.");
    return {
      title: visit.messages.submission.editTitle,
      content: <EditSubmission submission={submission} categories={categories} tags={tags} />,
    };
  },
  actions: [action(endpointOf(submissions, "patch", "/submissions/:id"))],
});

type Props = { submission: SubmissionDetail; categories: Label[]; tags: Label[] };

const EditSubmission = ({ submission, categories, tags }: Props) => {
  const { visit, frame } = useRendering();
  const { submission: words, submit, manage } = visit.messages;
  const path = submissionPath(submission.id, submission.title);
  const back = personLink(visit, path);
  return (
    <div class="form-page">
      <h1>{words.editTitle}</h1>
      <Form
        class="card stack"
        island="draft"
        id="edit"
        values={submission}
        returnTo={back.href}
        submit={words.save}
        back={back}
      >
        <Field name="title" label={submit.title} />
        <Field name="description" label={submit.description} rows={8} />
        <CategoryField categories={categories} value={submission.category_id} />
        {isAdmin(frame) && <Field name="tracker_issue_url" label={manage.trackerUrl} />}
      </Form>
      {isAdmin(frame) && tags.length > 0 && (
        <form
          method="post"
          action={`/submissions/${submission.id}/tags?organization=${frame.organization?.slug}`}
          class="card stack"
        >
          <fieldset class="checks">
            <legend>{manage.tags}</legend>
            {tags.map(({ name, slug }) => {
              const has = (submission.tags as string[]).includes(slug);
              return (
                <label class="check">
                  {has && <input type="hidden" name="had" value={slug} />}
                  <input type="checkbox" name="tags" value={slug} checked={has} />
                  {name}
                </label>
              );
            })}
          </fieldset>
          <input type="hidden" name="return_to" value={path} />
          <div>
            <Button label={words.save} />
          </div>
        </form>
      )}
    </div>
  );
};

type CategoryProps = { categories: Label[]; value: string | null | undefined };

export const CategoryField = ({ categories, value }: CategoryProps) => {
  const { submit } = useVisit().messages;
  return categories.length > 0 ? (
    <Field
      name="category_id"
      label={submit.category}
      value={value ?? ""}
      options={[
        { value: "", label: submit.noCategory },
        ...categories.map(({ id, name }) => ({ value: id, label: name })),
      ]}
    />
  ) : null;
};

const chosen = shortArrayOf(slug, 100).default([]);

/** Adds and removes tags with the bulk change of admins: only the difference to what the form showed. */
export const tagSubmission = plain({
  method: "post",
  path: "/submissions/:id/tags",
  access: "person",
  body: z.object({ tags: chosen, had: chosen }),
  call: ({ params, body }) => {
    const changes = {
      add_tags: body.tags.filter((tag) => !body.had.includes(tag)),
      remove_tags: body.had.filter((tag) => !body.tags.includes(tag)),
    };
    return (["add_tags", "remove_tags"] as const)
      .filter((action) => changes[action].length > 0)
      .map((action) => changeMany({ ids: [params.id], action, value: changes[action] }));
  },
  respond: (results, { params }) => {
    for (const [done] of results)
      for (const { error } of done?.data ? parsed(done.data) : [])
        if (error) throw new ApiError(error.code, error.message);
    return seeOther(`/submissions/${params.id}`);
  },
});

import { z } from "zod";
import { shortArrayOf, slug } from "../../../shared/fields.ts";
import type { bulkResult } from "../../../shared/moderation.ts";
import type { SubmissionDetail } from "../../../shared/submissions.ts";
import { ApiError, forbidden, notFound } from "../../_shared/http/api-error.ts";
import { changeMany } from "../../_shared/statements/moderation.ts";
import type { Frame } from "../../_shared/statements/pages.ts";
import { submissionDetail } from "../../_shared/statements/submissions.ts";
import { listTaxonomy } from "../../_shared/statements/taxonomy.ts";
import { Field, Problem } from "../components/field.tsx";
import { page, plain, seeOther } from "../page.tsx";
import { isAdmin, personForm, personLink, submissionPath } from "../paths.ts";
import type { Visit } from "../visit.ts";

type Label = { id: string; name: string; slug: string };

/** Edits a submission, for its author and admins; admins also see the fields that only they may change. */
export const editSubmission = page({
  path: "/submissions/:id/edit",
  access: "person",
  isEmbeddable: true,
  frame: ({ params }) => ({ resource: "submissions", id: params.id }),
  call: ({ params, locale }) => [
    submissionDetail(params.id, ["author"], locale),
    listTaxonomy({ submissionId: params.id }, "categories", locale),
    listTaxonomy({ submissionId: params.id }, "tags", locale),
  ],
  view: ([[shown], [categories], [tags]], { visit }, frame) => {
    if (!shown) throw notFound("submission");
    const submission: SubmissionDetail = JSON.parse(shown.data);
    if (!isAdmin(frame) && submission.author?.id !== frame.viewer?.id)
      throw forbidden("Only its author and the organization's admins edit a submission.");
    return {
      title: visit.messages.submission.editTitle,
      content: (
        <EditSubmission
          submission={submission}
          categories={JSON.parse(categories?.data ?? "[]")}
          tags={JSON.parse(tags?.data ?? "[]")}
          frame={frame}
          visit={visit}
        />
      ),
    };
  },
});

type Props = {
  submission: SubmissionDetail;
  categories: Label[];
  tags: Label[];
  frame: Frame;
  visit: Visit;
};

const EditSubmission = ({ submission, categories, tags, frame, visit }: Props) => {
  const { submission: words, submit, manage } = visit.messages;
  const path = submissionPath(submission.id, submission.title);
  const back = personLink(visit, path);
  return (
    <div class="form-page">
      <h1>{words.editTitle}</h1>
      <form
        {...personForm(visit, `/submissions/${submission.id}`)}
        class="card stack"
        data-island="draft"
        id="edit"
      >
        <Problem visit={visit} />
        <input type="hidden" name="_method" value="patch" />
        <input type="hidden" name="return_to" value={back.href} />
        <Field
          name="title"
          label={submit.title}
          value={submission.title}
          required
          minlength={5}
          maxlength={200}
          visit={visit}
        />
        <Field
          name="description"
          label={submit.description}
          value={submission.description}
          rows={8}
          required
          maxlength={5000}
          visit={visit}
        />
        <CategoryField categories={categories} value={submission.category_id} visit={visit} />
        {isAdmin(frame) && (
          <Field
            name="tracker_issue_url"
            type="url"
            label={manage.trackerUrl}
            value={submission.tracker_issue_url ?? ""}
            maxlength={2000}
            visit={visit}
          />
        )}
        <div class="buttons">
          <button type="submit" class="button main">
            {words.save}
          </button>
          <a class="button" {...back}>
            {words.cancel}
          </a>
        </div>
      </form>
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
            <button type="submit" class="button">
              {words.save}
            </button>
          </div>
        </form>
      )}
    </div>
  );
};

type CategoryProps = { categories: Label[]; value: string | null | undefined; visit: Visit };

export const CategoryField = ({ categories, value, visit }: CategoryProps) =>
  categories.length > 0 ? (
    <Field
      name="category_id"
      label={visit.messages.submit.category}
      value={value ?? ""}
      options={[
        { value: "", label: visit.messages.submit.noCategory },
        ...categories.map(({ id, name }) => ({ value: id, label: name })),
      ]}
      visit={visit}
    />
  ) : null;

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
      for (const { error } of JSON.parse(done?.data ?? "[]") as z.infer<typeof bulkResult>[])
        if (error) throw new ApiError(error.code, error.message);
    return seeOther(`/submissions/${params.id}`);
  },
});

import { z } from "zod";
import { type importAnswer, importFormats, importQuery, recordFiles } from "../../../../shared/imports.ts";
import { submissionType } from "../../../../shared/submissions.ts";
import {
  fileTypesByName,
  importFile,
  problemOfType,
  receiveImport,
} from "../../../_shared/files/import/receive.ts";
import { ApiError, InvalidInput, notFound } from "../../../_shared/http/api-error.ts";
import { discard, readUpload } from "../../../_shared/http/multipart.ts";
import { adminFrame } from "../../../_shared/statements/admin-frame.ts";
import { listImports, showImport } from "../../../_shared/statements/import-export.ts";
import { importExport } from "../../../endpoints/import-export.ts";
import { Stat } from "../../components/admin/stat.tsx";
import { DataTable } from "../../components/admin/table.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Icon } from "../../components/icon.tsx";
import { formatNumber, momentFormat } from "../../format.ts";
import { type DataMessages, dataMessages } from "../../messages/admin/index.ts";
import { endpointOf, form, type Page, seeOther } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { WordedError } from "../../problems.ts";
import type { Visit } from "../../visit.ts";
import { adminAction, adminPage } from "./admin-page.tsx";

type Import = z.output<typeof importAnswer>["data"];
type Props = { words: DataMessages["import"]; visit: Visit };

const words = (locale: Parameters<typeof dataMessages>[0]) => dataMessages(locale).import;

const prefilled = z.object({
  format: importQuery.shape.format.unwrap().optional().catch(undefined),
  source: importQuery.shape.source.catch(undefined),
  dry_run: z.literal("false").optional().catch(undefined),
});

export const imports: Page = adminPage({
  area: "import",
  words,
  query: prefilled,
  call: () => [listImports()],
  view: ([[list]], { query, words, visit }) => ({
    title: words.title,
    content: (
      <>
        <UploadForm chosen={query} words={words} visit={visit} />
        <section class="stack">
          <h2>{words.earlier}</h2>
          <Earlier imports={JSON.parse(list?.data ?? "[]")} words={words} visit={visit} />
        </section>
      </>
    ),
  }),
});

const UploadForm = ({ chosen, words, visit }: Props & { chosen: z.output<typeof prefilled> }) => {
  const typed = visit.refused?.typed;
  const problem = visit.refused?.details.find(({ field }) => field === "file")?.message;
  const runs = (typed?.get("dry_run") ?? chosen.dry_run) === "false";
  return (
    <form
      method="post"
      action={adminPath(visit, "/import")}
      enctype="multipart/form-data"
      class="card form-card stack"
      id="import-form"
      data-turbo="false"
    >
      <p>{words.intro}</p>
      <Problem visit={visit} />
      <Field
        name="format"
        label={words.format}
        value={chosen.format}
        options={importFormats.map((value) => ({ value, label: words.formats[value] }))}
        visit={visit}
      />
      <fieldset>
        <legend>{words.mode}</legend>
        <label class="check">
          <input type="radio" name="dry_run" value="true" checked={!runs} />
          {words.check}
        </label>
        <label class="check">
          <input type="radio" name="dry_run" value="false" checked={runs} />
          {words.run}
        </label>
      </fieldset>
      <details id="import-options" open={visit.refused !== undefined || chosen.source !== undefined}>
        <summary class="link">{words.options}</summary>
        <div class="stack form-options">
          <Field
            name="what"
            label={words.what}
            hint={words.whatHint}
            options={recordFiles.map((value) => ({ value, label: words.kinds[value] }))}
            visit={visit}
          />
          <Field
            name="source"
            label={words.source}
            hint={words.sourceHint}
            value={chosen.source}
            maxlength={64}
            visit={visit}
          />
          <Field
            name="type"
            label={words.type}
            options={submissionType.options.map((value) => ({ value, label: words.types[value] }))}
            visit={visit}
          />
          <Check name="create_missing" label={words.createMissing} checked visit={visit} />
          <Check name="follow" label={words.follow} visit={visit} />
          <Check name="anonymous_votes" label={words.anonymousVotes} visit={visit} />
        </div>
      </details>
      {/* After all fields: they are read before it. */}
      <div class="field">
        <label for="file">{words.file}</label>
        <p class="hint" id="file-hint">
          {words.fileHint}
        </p>
        {problem && (
          <p class="problem" id="file-problem">
            {words.file}: {problem}
          </p>
        )}
        <input
          type="file"
          id="file"
          name="file"
          accept={Object.keys(fileTypesByName).join(",")}
          required
          aria-describedby={problem ? "file-hint file-problem" : "file-hint"}
          aria-invalid={problem ? "true" : undefined}
          data-island="file-size"
          data-max={String(importFile.maxBytes)}
          data-too-large={words.tooLarge}
        />
      </div>
      <div class="buttons">
        <button type="submit" class="button main">
          <Icon name="upload" />
          {words.submit}
        </button>
      </div>
    </form>
  );
};

const Check = ({
  name,
  label,
  checked = false,
  visit,
}: Pick<Props, "visit"> & { name: string; label: string; checked?: boolean }) => {
  const typed = visit.refused?.typed.getAll(name).at(-1);
  return (
    <label class="check">
      <input type="hidden" name={name} value="false" />
      <input type="checkbox" name={name} value="true" checked={typed ? typed === "true" : checked} />
      {label}
    </label>
  );
};

const Earlier = ({ imports, words, visit }: Props & { imports: Import[] }) => {
  const moment = momentFormat(visit.locale, "UTC");
  const number = (value: number) => formatNumber(value, visit.locale);
  return (
    <DataTable
      id="imports"
      caption={words.earlier}
      rows={imports}
      rowId={({ id }) => id}
      columns={[
        {
          key: "at",
          label: words.when,
          cell: ({ id, created_at }) => (
            <a class="link" href={adminPath(visit, `/import/${id}`)}>
              <time datetime={created_at}>{moment(created_at)}</time>
            </a>
          ),
        },
        { key: "from", label: words.from, cell: ({ source }) => source },
        {
          key: "kind",
          label: words.kind,
          cell: ({ dry_run }) => (dry_run ? words.kindCheck : words.kindRun),
        },
        { key: "state", label: words.state, cell: ({ state }) => words.states[state] },
        { key: "created", label: words.created, isNumber: true, cell: ({ created }) => number(created) },
        { key: "skipped", label: words.skipped, isNumber: true, cell: ({ skipped }) => number(skipped) },
        { key: "failed", label: words.failed, isNumber: true, cell: ({ failed }) => number(failed) },
      ]}
      empty={<p>{words.none}</p>}
      visit={visit}
    />
  );
};

export const sendImport: Page = form({
  path: "/admin/import",
  access: "person",
  ofOrganization: true,
  readsBody: true,
  formPage: imports,
  work: async ({ visit }, execute, request) => {
    const said = words(visit.locale);
    // Authorize before reading the body.
    await execute([adminFrame("admin")]);
    const { fields, file } = await readUpload(request, importFile);
    visit.form = fields;
    try {
      if (!file) throw problemOfFile(said.fileMissing);
      const type = fileTypesByName[/\.[a-z]+$/i.exec(file.name)?.[0].toLowerCase() ?? ""];
      if (!type) throw problemOfFile(said.fileType);
      const query = importQuery.safeParse(
        Object.fromEntries([...fields].filter(([, value]) => value !== "")),
      );
      if (!query.success) throw new InvalidInput(query.error.issues);
      if (problemOfType(type, query.data.format)) throw problemOfFile(said.zipOnlyFider);
      const { id } = await receiveImport(query.data, type, file.bytes, execute);
      return seeOther(adminPath(visit, `/import/${id}`));
    } catch (error) {
      if (file) await discard(file.bytes);
      throw error instanceof ApiError && error.code === "PAYLOAD_TOO_LARGE"
        ? problemOfFile(said.tooLarge)
        : error;
    }
  },
});

const problemOfFile = (message: string) =>
  new WordedError("VALIDATION_ERROR", message, [{ field: "file", message }]);

export const importPage: Page = adminPage({
  area: "import",
  path: "/:id",
  words,
  call: ({ params }) => [showImport(params.id)],
  view: ([[found]], { words, visit }) => {
    if (!found) throw notFound("import");
    const shown: Import = JSON.parse(found.data);
    const isRunning = shown.state === "receiving" || shown.state === "running";
    const number = (value: number) => formatNumber(value, visit.locale);
    return {
      title: shown.dry_run ? words.checkTitle : words.runTitle,
      trail: [],
      // Without scripts; with them the island follows.
      head: isRunning ? (
        <noscript>
          <meta http-equiv="refresh" content="2" />
        </noscript>
      ) : undefined,
      content: (
        <>
          <Problem visit={visit} />
          {isRunning ? (
            <section class="card form-card" id={`running-${shown.id}`} data-island="follow">
              <p class="with-icon">
                <Icon name="clock" />
                {words.states[shown.state]}
              </p>
              <progress
                aria-label={words.progress}
                max={Math.max(1, shown.bytes)}
                value={shown.state === "running" ? shown.bytes_read : undefined}
              />
              <p class="number">{words.soFar(shown.processed)}</p>
              <form method="post" action={adminPath(visit, `/import/${shown.id}`)} class="buttons">
                <input type="hidden" name="_method" value="delete" />
                <button type="submit" class="button danger">
                  {words.cancel}
                </button>
                <span class="quiet small">{words.cancelHint}</span>
              </form>
            </section>
          ) : (
            <Outcome of={shown} words={words} visit={visit} />
          )}
          <dl class="stats">
            <Stat
              label={shown.dry_run ? words.wouldCreate : words.created}
              value={number(shown.created)}
              visit={visit}
            />
            <Stat
              label={words.skipped}
              value={number(shown.skipped)}
              hint={words.skippedHint}
              visit={visit}
            />
            <Stat label={words.failed} value={number(shown.failed)} visit={visit} />
          </dl>
          <Errors of={shown} words={words} visit={visit} />
        </>
      ),
    };
  },
});

const Outcome = ({ of: shown, words, visit }: Props & { of: Import }) => {
  const isCompleted = shown.state === "completed";
  const isSuccess = isCompleted && (shown.created > 0 || shown.failed === 0);
  const wouldCreateNothing = shown.dry_run && shown.created === 0;
  const next = new URLSearchParams({ format: shown.format, dry_run: "false" });
  if (shown.source !== shown.format) next.set("source", shown.source);
  return (
    <section class={`notice ${isSuccess ? "done" : "problem"}`} id="outcome">
      <p class="with-icon">
        <Icon name={isSuccess ? "circle-check" : "triangle-alert"} />
        {words.states[shown.state]}
        {isCompleted && shown.errors.length === 0 && <span> · {words.fine}</span>}
      </p>
      {shown.problem && (
        <p>
          {words.problem}: <span lang="en">{shown.problem}</span>
        </p>
      )}
      <div class="buttons">
        {shown.can_apply && !wouldCreateNothing ? (
          <form method="post" action={adminPath(visit, `/import/${shown.id}/apply`)}>
            <button type="submit" class="button main">
              <Icon name="upload" />
              {words.next}
            </button>
          </form>
        ) : isCompleted && shown.dry_run && !wouldCreateNothing ? (
          <a class="button main" href={adminPath(visit, `/import?${next}`)}>
            {words.next}
          </a>
        ) : (
          <a class="button" href={adminPath(visit, "/import")}>
            {words.again}
          </a>
        )}
      </div>
      {isCompleted && shown.dry_run && !wouldCreateNothing && (
        <p class="quiet small">{shown.can_apply ? words.nextHint : words.chooseAgain}</p>
      )}
    </section>
  );
};

const Errors = ({ of: { errors }, words, visit }: Props & { of: Import }) =>
  errors.length === 0 ? null : (
    <section class="stack">
      <h2>{words.errors}</h2>
      {errors.length >= maxErrors && <p class="quiet">{words.first}</p>}
      <DataTable
        id="import-errors"
        caption={words.errors}
        rows={errors.map((error, index) => ({ ...error, index }))}
        rowId={({ index }) => `error-${index}`}
        columns={[
          ...(errors.some(({ file }) => file)
            ? [{ key: "file", label: words.ofFile, cell: ({ file }: Import["errors"][number]) => file }]
            : []),
          { key: "line", label: words.line, cell: ({ line }) => formatNumber(line, visit.locale) },
          { key: "field", label: words.field, cell: ({ field }) => field && <code>{field}</code> },
          { key: "message", label: words.message, cell: ({ message }) => <span lang="en">{message}</span> },
        ]}
        empty=""
        visit={visit}
      />
    </section>
  );

const maxErrors = 100;

export const cancelImport = adminAction(endpointOf(importExport, "delete", "/admin/imports/:id"), {
  area: "import",
  path: "/:id",
  formPage: importPage,
  doneMessage: "canceled",
  redirectTo: (_response, { visit, params }) => adminPath(visit, `/import/${params.id}`),
});

export const applyImport = adminAction(endpointOf(importExport, "post", "/admin/imports/:id/apply"), {
  area: "import",
  path: "/:id/apply",
  formPage: importPage,
  redirectTo: ({ json }, { visit }) => adminPath(visit, `/import/${JSON.parse(json).data.id}`),
});

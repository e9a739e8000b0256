import { z } from "zod";
import { applyOptions, fieldsOfFile, importOptions } from "../../../../shared/import-fields.ts";
import { importFormats, importQuery, recordFiles } from "../../../../shared/imports.ts";
import { submissionType } from "../../../../shared/submissions.ts";
import {
  applyStored,
  fileTypesByName,
  importFile,
  problemOfType,
  receiveImport,
} from "../../../_shared/files/import/receive.ts";
import { ApiError, InvalidInput } from "../../../_shared/http/api-error.ts";
import { discard, readUpload } from "../../../_shared/http/multipart.ts";
import { adminFrame } from "../../../_shared/statements/admin-frame.ts";
import { type Import, listImports, showImport } from "../../../_shared/statements/import-export.ts";
import { parsed } from "../../../_shared/statements/shapes.ts";
import { importExport } from "../../../endpoints/import-export.ts";
import { CheckField } from "../../components/admin/check.tsx";
import { Moment } from "../../components/admin/moment.tsx";
import { Stat } from "../../components/admin/stat.tsx";
import { type Column, DataTable, number } from "../../components/admin/table.tsx";
import { Button } from "../../components/button.tsx";
import { Field, Problem } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Icon } from "../../components/icon.tsx";
import { formatNumber } from "../../format.ts";
import { endpointOf, form, type Page, seeOther } from "../../page.tsx";
import { adminPath } from "../../paths.ts";
import { WordedError } from "../../problems.ts";
import { useVisit, useWords } from "../../rendering.ts";
import { adminPage } from "./admin-page.tsx";

const area = "import";
const send = endpointOf(importExport, "post", "/admin/import");
const cancel = endpointOf(importExport, "delete", "/admin/imports/:id");
const apply = endpointOf(importExport, "post", "/admin/imports/:id/apply");

const prefilled = z.object({
  format: importQuery.shape.format.unwrap().optional().catch(undefined),
  source: importQuery.shape.source.catch(undefined),
  dry_run: z.literal("false").optional().catch(undefined),
});

const problemOfFile = (message: string) => new WordedError("VALIDATION_ERROR", message, [{ field: "file", message }]);

const sendImport: Page = form({
  path: "/admin/import",
  access: "person",
  readsBody: true,
  work: async ({ visit }, execute, request) => {
    const said = visit.messages.admin.import;
    // Authorize before reading the body.
    await execute([adminFrame("admin")]);
    const { fields, file } = await readUpload(request, importFile);
    visit.form = fields;
    try {
      if (!file) throw problemOfFile(said.fileMissing);
      const type = fileTypesByName[/\.[a-z]+$/i.exec(file.name)?.[0].toLowerCase() ?? ""];
      if (!type) throw problemOfFile(said.fileType);
      const query = importOptions.safeParse(Object.fromEntries([...fields].filter(([, value]) => value !== "")));
      if (!query.success) throw new InvalidInput(query.error.issues);
      if (problemOfType(type, query.data.format)) throw problemOfFile(said.zipOnlyFider);
      const { id } = await receiveImport(query.data, type, file.bytes, execute);
      return seeOther(adminPath(visit, `/import/${id}`));
    } catch (error) {
      if (file) await discard(file.bytes);
      throw error instanceof ApiError && error.code === "PAYLOAD_TOO_LARGE" ? problemOfFile(said.tooLarge) : error;
    }
  },
});

const fieldOf = "field of ";

const checkAgain: Page = form({
  path: "/admin/import/:id/check",
  access: "person",
  work: async ({ visit, params }, execute) => {
    const sent = visit.form as URLSearchParams;
    const chosen = [...sent]
      .filter(([name]) => name.startsWith(fieldOf))
      .map(([name, field]) => [name.slice(fieldOf.length), field || null]);
    const query = applyOptions.safeParse({
      columns: JSON.stringify(Object.fromEntries(chosen)),
      dates: sent.get("dates") || undefined,
      dry_run: "true",
    });
    if (!query.success) throw new InvalidInput(query.error.issues);
    const checked = await applyStored(params.id as string, query.data, execute).catch((error) => {
      const isColumns = error instanceof ApiError && error.details.some(({ field }) => field === "columns");
      throw isColumns ? new WordedError("VALIDATION_ERROR", visit.messages.admin.import.fieldTwice, []) : error;
    });
    return seeOther(adminPath(visit, `/import/${parsed<Import>(checked).id}`));
  },
});

const imports: Page = adminPage({
  area,
  query: prefilled,
  read: () => [listImports()],
  view: ([rows], { query, words }) => ({
    title: words.title,
    content: (
      <>
        <UploadForm chosen={query} />
        <section class="stack">
          <h2>{words.earlier}</h2>
          <Earlier imports={rows} />
        </section>
      </>
    ),
  }),
  actions: [sendImport],
});

const UploadForm = ({ chosen }: { chosen: z.output<typeof prefilled> }) => {
  const words = useWords("import");
  const visit = useVisit();
  const runs = (visit.refused?.typed.get("dry_run") ?? chosen.dry_run) === "false";
  return (
    <Form
      of={send}
      to={adminPath(visit, "/import")}
      hasFile
      values={chosen}
      class="card form-card stack"
      id="import-form"
      submit={
        <>
          <Icon name="upload" />
          {words.submit}
        </>
      }
    >
      <p>{words.intro}</p>
      <Field
        name="format"
        label={words.format}
        options={importFormats.map((value) => ({ value, label: words.formats[value] }))}
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
          />
          <Field name="source" label={words.source} hint={words.sourceHint} />
          <Field
            name="type"
            label={words.type}
            options={submissionType.options.map((value) => ({ value, label: words.types[value] }))}
          />
          <Field name="dates" label={words.dates} options={words.dateOrders} />
          <CheckField name="create_missing" label={words.createMissing} checked />
          <CheckField name="follow" label={words.follow} checked={false} />
          <CheckField name="anonymous_votes" label={words.anonymousVotes} checked={false} />
        </div>
      </details>
      {/* After all fields: they are read before it. */}
      <Field
        name="file"
        label={words.file}
        hint={words.fileHint(importFile.maxBytes / mebibyte)}
        file={{ types: Object.keys(fileTypesByName), maxBytes: importFile.maxBytes, tooLarge: words.tooLarge }}
      />
    </Form>
  );
};

const Earlier = ({ imports: rows }: { imports: Import[] }) => {
  const words = useWords("import");
  const visit = useVisit();
  return (
    <DataTable
      id="imports"
      caption={words.earlier}
      rows={rows}
      columns={[
        {
          label: words.when,
          cell: ({ id, created_at }) => (
            <a class="link" href={adminPath(visit, `/import/${id}`)}>
              <Moment at={created_at} />
            </a>
          ),
        },
        { label: words.from, cell: ({ source }) => source },
        { label: words.kind, cell: ({ dry_run }) => (dry_run ? words.kindCheck : words.kindRun) },
        { label: words.state, cell: ({ state }) => words.states[state] },
        number("created", words.created),
        number("skipped", words.skipped),
        number("failed", words.failed),
      ]}
      empty={<p>{words.none}</p>}
    />
  );
};

const importPage: Page = adminPage({
  area,
  path: "/:id",
  read: ({ params }) => [showImport(params.id)],
  view: ([shown], { words, visit }) => {
    const isRunning = shown.state === "receiving" || shown.state === "running";
    const count = (value: number) => formatNumber(value, visit.locale);
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
          <Problem />
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
              <Form of={cancel} class="buttons" hasProblem={false}>
                <Button kind="danger" label={words.cancel} />
                <span class="quiet small">{words.cancelHint}</span>
              </Form>
            </section>
          ) : (
            <Outcome of={shown} />
          )}
          <Columns of={shown} />
          <dl class="stats">
            <Stat label={shown.dry_run ? words.wouldCreate : words.created} value={count(shown.created)} />
            <Stat label={words.skipped} value={count(shown.skipped)} hint={words.skippedHint} />
            <Stat label={words.failed} value={count(shown.failed)} />
          </dl>
          <Errors of={shown} />
        </>
      ),
    };
  },
  actions: [
    checkAgain,
    { of: cancel, done: "canceled", next: "/:id" },
    {
      of: apply,
      path: "/:id/apply",
      next: ({ json }, { visit }) => adminPath(visit, `/import/${JSON.parse(json).data.id}`),
    },
  ],
});

const Outcome = ({ of: shown }: { of: Import }) => {
  const words = useWords("import");
  const visit = useVisit();
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
          {words.problem + words.colon}
          <span lang="en">{shown.problem}</span>
        </p>
      )}
      <div class="buttons">
        {shown.can_apply && !wouldCreateNothing ? (
          <Form of={apply} hasProblem={false}>
            <Button kind="main" icon="upload" label={words.next} />
          </Form>
        ) : isCompleted && shown.dry_run && !wouldCreateNothing ? (
          <Button kind="main" href={adminPath(visit, `/import?${next}`)} label={words.next} />
        ) : (
          <Button href={adminPath(visit, "/import")} label={words.again} />
        )}
      </div>
      {isCompleted && shown.dry_run && !wouldCreateNothing && (
        <p class="quiet small">{shown.can_apply ? words.nextHint : words.chooseAgain}</p>
      )}
    </section>
  );
};

/** What the file has and the import does not use, and the reverse. */
const Columns = ({ of: shown }: { of: Import }) => {
  const words = useWords("import");
  const { unused, missing, mapped } = shown.columns;
  const named = [...new Set([...unused, ...Object.keys(mapped)])];
  const hasDates = shown.errors.some(({ field }) => field?.endsWith("_at"));
  const fields = fieldsOfFile({ ...shown, columns: mapped, anonymous_votes: false });
  return (
    <>
      {(unused.length > 0 || missing.length > 0) && (
        <section class="stack notice warning" id="columns">
          <Names label={words.unused} of={unused} />
          <Names label={words.missing} of={missing} />
        </section>
      )}
      {shown.can_check && (named.length > 0 || hasDates) && (
        <Form of={checkAgain} class="card form-card" id="columns-form" hasProblem={false}>
          {named.length > 0 && <p>{words.chooseFields}</p>}
          <div class="column-fields">
            {named.map((name, index) => (
              <Field
                name={`${fieldOf}${name}`}
                id={`column-${index}`}
                label={name}
                value={mapped[name] ?? ""}
                options={[
                  { value: "", label: words.leaveOut },
                  ...fields.map((field) => ({ value: field, label: field })),
                ]}
              />
            ))}
          </div>
          {hasDates && <Field name="dates" label={words.dates} options={words.dateOrders} />}
          <div class="buttons">
            <Button icon="search" label={words.checkAgain} />
          </div>
        </Form>
      )}
    </>
  );
};

const Names = ({ label, of: names }: { label: string; of: string[] }) => {
  const { words } = useVisit().messages;
  return names.length === 0 ? null : (
    <p class="with-icon">
      <Icon name="triangle-alert" />
      <span>
        <strong>{label + words.colon}</strong>
        {names.map((name, index) => (
          <>
            {index > 0 && ", "}
            <bdi>
              <code>{name}</code>
            </bdi>
          </>
        ))}
      </span>
    </p>
  );
};

const maxErrors = 100;
const mebibyte = 1024 * 1024;

const Errors = ({ of: { errors } }: { of: Import }) => {
  const words = useWords("import");
  const visit = useVisit();
  const file: Column<Import["errors"][number]> = { label: words.ofFile, cell: (error) => error.file };
  return errors.length === 0 ? null : (
    <section class="stack">
      <h2>{words.errors}</h2>
      {errors.length >= maxErrors && <p class="quiet">{words.first(maxErrors)}</p>}
      <DataTable
        id="import-errors"
        caption={words.errors}
        rows={errors.map((error, index) => ({ ...error, id: `error-${index}` }))}
        columns={[
          ...(errors.some((error) => error.file) ? [file] : []),
          { label: words.line, cell: ({ line }) => formatNumber(line, visit.locale) },
          { label: words.field, cell: ({ field }) => field && <code>{field}</code> },
          { label: words.message, cell: ({ message }) => <span lang="en">{message}</span> },
        ]}
        empty=""
      />
    </section>
  );
};

export const importPages = [imports, importPage];

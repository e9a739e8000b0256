import { allowedOrigins } from "../../../_shared/statements/admin.ts";
import { admin } from "../../../endpoints/admin.ts";
import { Field } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { FormContext, useForm } from "../../components/form-state.ts";
import { endpointOf } from "../../page.tsx";
import { useVisit, useWords } from "../../rendering.ts";
import { adminPage } from "./admin-page.tsx";

const origins = adminPage({
  area: "origins",
  read: () => [allowedOrigins(null)],
  view: ([kept], { words }) => ({
    title: words.title,
    content: (
      <>
        <p class="quiet lead">{words.text}</p>
        <Form submit={words.save}>
          <OriginsField origins={kept.origins} />
          <p class="quiet small">{words.lost}</p>
        </Form>
      </>
    ),
  }),
  actions: [
    {
      of: endpointOf(admin, "put", "/admin/origins"),
      readForm: (form) => ({ origins: linesOf(form).filter((line) => line !== "") }),
      done: "saved",
    },
  ],
});

const linesOf = (form: URLSearchParams) => (form.get("origins") ?? "").split(/\r\n|\r|\n/).map((line) => line.trim());

/** Adds line numbers to errors: the API counts origins, but the field may contain empty lines. */
const OriginsField = ({ origins }: { origins: string[] }) => {
  const words = useWords("origins");
  const form = useForm(useVisit());
  const { refused } = form;
  const filled = refused ? linesOf(refused.typed).flatMap((text, index) => (text ? [index + 1] : [])) : [];
  const details = refused?.details.map(({ field, message }) => {
    const index = /^origins\.(\d+)$/.exec(field)?.[1];
    return index === undefined
      ? { field, message }
      : { field: "origins", message: words.line(filled[Number(index)] ?? 0, message) };
  });
  return (
    <FormContext.Provider value={{ ...form, refused: refused && { ...refused, details: details ?? [] } }}>
      <Field
        name="origins"
        label={words.origins}
        hint={words.hint}
        rows={Math.max(6, origins.length + 2)}
        value={origins.join("\n")}
      />
    </FormContext.Provider>
  );
};

export const originPages = [origins];

import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { emailAddress, newSlug, personName } from "../../../shared/fields.ts";
import { organizationName, visibilities } from "../../../shared/organizations.ts";
import { runStatement } from "../../_shared/database/run.ts";
import { InvalidInput, notFound } from "../../_shared/http/api-error.ts";
import { valueOfForm } from "../../_shared/http/form.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { setUp, setupIsOpen } from "../../_shared/statements/setup.ts";
import { Field } from "../components/field.tsx";
import { Form } from "../components/form.tsx";
import { maxLengthOf } from "../limits-of-fields.ts";
import { form, page, plain, seeOther } from "../page.tsx";
import { WordedError } from "../problems.ts";
import { useVisit, useWords } from "../rendering.ts";
import type { Visit } from "../visit.ts";
import {
  Card,
  EmailField,
  mailedUrl,
  NewPasswordField,
  newPassword,
  refusedByAuth,
  rememberAddress,
  withReturn,
} from "./account.tsx";

const requireOpen = ([[state]]: readonly [readonly { data: boolean }[]]) => {
  if (!state?.data) throw notFound("page");
};

/** Shown instead of the board if there is no organization. */
export const redirectToSetup = plain({
  method: "get",
  path: "/",
  call: () => [setupIsOpen()],
  respond: (results) => {
    requireOpen(results);
    return seeOther("/setup");
  },
});

const account = z.object({ name: personName, email: emailAddress, password: newPassword });

/** The first visit to a new installation: the operator makes the first organization and its owner. */
export const setup = page({
  path: "/setup",
  hasSecretAddress: true,
  call: () => [setupIsOpen()],
  view: (results, { visit }, { viewer }) => {
    requireOpen(results);
    return { title: visit.messages.admin.setup.title, noindex: true, content: <Setup viewerName={viewer?.name} /> };
  },
  actions: [
    form({
      path: "/setup",
      body: z.object({
        token: z.string().max(500).optional(),
        organization: z.object({ name: organizationName, slug: newSlug, visibility: z.enum(visibilities) }),
      }),
      work: async ({ body: { token, organization }, visit }, execute) => {
        const words = visit.messages.admin.setup;
        requireOpen(await execute([setupIsOpen()]));
        if (!isToken(token)) {
          const details = [{ field: "token", message: words.tokenWrong }];
          throw new WordedError("VALIDATION_ERROR", words.tokenWrong, details);
        }
        const { credential } = visit.session;
        const ownerId = credential.kind === "user" ? credential.userId : await newOwner(visit);
        if (!ownerId) return seeOther(withReturn("/sign-in/code", "/setup"));
        await runStatement(setUp(ownerId, organization));
        return seeOther("/admin/welcome");
      },
    }),
  ],
});

/** Undefined where the address has to be confirmed first. */
async function newOwner(visit: Visit): Promise<string | undefined> {
  const typed = account.safeParse(valueOfForm(account, visit.form as URLSearchParams));
  if (!typed.success) throw new InvalidInput(typed.error.issues);
  const { name, email, password } = typed.data;
  const { data, error } = await visit
    .auth()
    .signUp({ email, password, options: { data: { name }, emailRedirectTo: mailedUrl(visit, "/setup") } });
  if (error) throw refusedByAuth(error, visit);
  if (!data.session) rememberAddress(visit, email);
  return data.session?.user.id;
}

const digestOf = (text: string) => createHash("sha256").update(text).digest();

function isToken(token: string | null | undefined): boolean {
  const { setupToken } = environment;
  return setupToken !== undefined && timingSafeEqual(digestOf(token?.trim() ?? ""), digestOf(setupToken));
}

/** The token of the URL that npm start prints, or of the form. */
const givenToken = ({ query, refused }: Visit) => refused?.typed.get("token") ?? query.get("token");

const Setup = ({ viewerName }: { viewerName: string | undefined }) => {
  const words = useWords("setup");
  const visit = useVisit();
  return (
    <Card title={words.title}>
      <p>{words.intro}</p>
      <Form class="stack" hasTurbo={false} submit={words.submit}>
        {isToken(givenToken(visit)) ? (
          <input type="hidden" name="token" value={givenToken(visit) ?? ""} />
        ) : (
          <Field name="token" label={words.token} hint={words.tokenHint} type="password" autocomplete="off" required />
        )}
        <h2>{words.owner}</h2>
        {viewerName === undefined ? (
          <>
            <Field
              name="name"
              label={visit.messages.account.name}
              autocomplete="name"
              required
              maxlength={maxLengthOf(personName)}
            />
            <EmailField />
            <NewPasswordField label={visit.messages.account.password} />
          </>
        ) : (
          <p>{words.signedInAs(viewerName)}</p>
        )}
        <h2>{words.organization}</h2>
        <Field name="organization.name" id="organization-name" label={words.name} autocomplete="organization" />
        <Field
          name="organization.slug"
          id="organization-slug"
          label={words.slug}
          hint={words.slugHint}
          autocomplete="off"
        />
        <Field
          name="organization.visibility"
          id="organization-visibility"
          label={words.visibility}
          options={visibilities.map((value) => ({ value, label: words.visibilities[value] }))}
        />
      </Form>
    </Card>
  );
};

import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { emailAddress, newSlug, personName } from "../../../shared/fields.ts";
import { organizationName, visibilities } from "../../../shared/organizations.ts";
import { runStatement } from "../../_shared/database/run.ts";
import { InvalidInput, notFound } from "../../_shared/http/api-error.ts";
import { valueOfForm } from "../../_shared/http/form.ts";
import { environment } from "../../_shared/runtime/environment.ts";
import { setUp, setupIsOpen } from "../../_shared/statements/setup.ts";
import { Field, Problem } from "../components/field.tsx";
import { type SetupMessages, setupMessages } from "../messages/admin/index.ts";
import { form, page, plain, seeOther } from "../page.tsx";
import { WordedError } from "../problems.ts";
import type { Visit } from "../visit.ts";
import {
  EmailField,
  mailedUrl,
  NewPasswordField,
  newPassword,
  refusedByAuth,
  rememberAddress,
  withReturn,
} from "./account.tsx";

const requireOpen = ([[state]]: readonly [readonly { open: boolean }[]]) => {
  if (!state?.open) throw notFound("page");
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

/** The first visit to a new installation: the operator makes the first organization and its owner. */
export const setup = page({
  path: "/setup",
  hasSecretAddress: true,
  call: () => [setupIsOpen()],
  view: (results, { visit }, { viewer }) => {
    requireOpen(results);
    const words = setupMessages(visit.locale);
    return {
      title: words.title,
      noindex: true,
      content: <Setup viewerName={viewer?.name} words={words} visit={visit} />,
    };
  },
});

const account = z.object({ name: personName, email: emailAddress, password: newPassword });

export const setupForm = form({
  path: "/setup",
  formPage: setup,
  body: z.object({
    token: z.string().max(500).optional(),
    organization: z.object({
      name: organizationName,
      slug: newSlug,
      visibility: z.enum(visibilities),
    }),
  }),
  work: async ({ body: { token, organization }, visit }, execute) => {
    const words = setupMessages(visit.locale);
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

/** In the address that npm start prints, or in the form. */
const givenToken = ({ query, refused }: Visit) => refused?.typed.get("token") ?? query.get("token");

const Setup = ({
  viewerName,
  words,
  visit,
}: {
  viewerName: string | undefined;
  words: SetupMessages;
  visit: Visit;
}) => (
  <section class="card narrow">
    <h1>{words.title}</h1>
    <p>{words.intro}</p>
    <form method="post" action="/setup" class="stack" data-turbo="false">
      <Problem visit={visit} />
      {isToken(givenToken(visit)) ? (
        <input type="hidden" name="token" value={givenToken(visit) ?? ""} />
      ) : (
        <Field
          name="token"
          label={words.token}
          hint={words.tokenHint}
          type="password"
          autocomplete="off"
          required
          visit={visit}
        />
      )}
      <h2>{words.owner}</h2>
      {viewerName === undefined ? (
        <>
          <Field
            name="name"
            label={visit.messages.account.name}
            autocomplete="name"
            required
            maxlength={100}
            visit={visit}
          />
          <EmailField visit={visit} />
          <NewPasswordField visit={visit} label={visit.messages.account.password} />
        </>
      ) : (
        <p>{words.signedInAs(viewerName)}</p>
      )}
      <h2>{words.organization}</h2>
      <Field
        name="organization.name"
        id="organization-name"
        label={words.name}
        autocomplete="organization"
        required
        maxlength={100}
        visit={visit}
      />
      <Field
        name="organization.slug"
        id="organization-slug"
        label={words.slug}
        hint={words.slugHint}
        autocomplete="off"
        required
        maxlength={64}
        visit={visit}
      />
      <Field
        name="organization.visibility"
        id="organization-visibility"
        label={words.visibility}
        options={visibilities.map((value) => ({ value, label: words.visibilities[value] }))}
        visit={visit}
      />
      <button type="submit" class="button main">
        {words.submit}
      </button>
    </form>
  </section>
);

import type { Scope } from "../../../shared/scopes.ts";
import { type AdminArea, type AdminWorld, doneByAdmins, forAdmins } from "./callers.ts";

const scopes: Scope[] = ["surveys:read", "surveys:write", "surveys:publish"];

type Helpers = typeof import("../../api/survey-world.ts") & typeof import("../../api/world.ts");

const created =
  (make: (key: { token: string }, world: AdminWorld, helpers: Helpers) => Promise<string>) =>
  async (world: AdminWorld) => {
    const helpers = { ...(await import("../../api/survey-world.ts")), ...(await import("../../api/world.ts")) };
    return make(await helpers.newKey(world.organization, scopes), world, helpers);
  };

/** A draft is visible to the team only. */
const doneToADraft = "in 404 403 303 303 404";

/** A survey for everyone is not mailed. */
const notMailed = doneByAdmins.replaceAll("303", "422");

/** The page is part of the builder, which only admins see. */
const arranged = forAdmins;

export const surveysArea: AdminArea = {
  name: "surveys",
  pages: [
    ["/surveys", forAdmins],
    ["/surveys?status=draft", forAdmins],
    ["/surveys/new", forAdmins],
    ["/surveys/:draft", forAdmins],
    ["/surveys/:draft/edit", forAdmins],
    ["/surveys/:open", forAdmins],
    ["/surveys/:open/edit", forAdmins],
    ["/surveys/:open/texts", forAdmins],
    ["/surveys/:open/responses", forAdmins],
    ["/surveys/:open/responses.csv", forAdmins],
    ["/surveys/:response", forAdmins],
    ["/surveys/:open/share", forAdmins],
    ["/surveys/:open/qr.svg", forAdmins],
    ["/surveys/:open/archive", forAdmins],
    ["/surveys/:open/delete", forAdmins],
  ],
  forms: [
    ["/surveys", { title: "A survey" }, doneByAdmins],
    ["/surveys/new", { do: "add.nps" }, arranged],
    ["/surveys/:draft/edit", { _method: "patch", title: "Another title" }, doneToADraft],
    ["/surveys/:draft/edit", { do: "add.nps" }, arranged],
    ["/surveys/:draft/publish", {}, doneToADraft],
    ["/surveys/:open/pause", {}, doneByAdmins],
    ["/surveys/:paused/resume", {}, doneByAdmins],
    ["/surveys/:open/mail", {}, notMailed],
    ["/surveys/:open/versions", {}, doneByAdmins],
    ["/surveys/:open/archive", {}, doneByAdmins],
    ["/surveys/:open/delete", { _method: "delete" }, doneByAdmins],
  ],
  ids: {
    ":draft": created(async (key, { organization }, { newDraft }) => (await newDraft(key, organization)).id),
    ":open": created(async (key, { organization }, { newSurvey }) => (await newSurvey(key, organization)).id),
    ":paused": created(async (key, { organization }, { change, newSurvey }) => {
      const { id } = await newSurvey(key, organization);
      await change(id, "pause", key);
      return id;
    }),
    ":response": created(async (key, { organization }, { newSurvey, newUser, respond }) => {
      const survey = await newSurvey(key, organization);
      const member = await newUser("Rita Respondent", { organization, role: "member" });
      const { data } = (await respond(survey, member, { 0: 9 })).body as { data: { response_id: string } };
      return `${survey.id}/responses/${data.response_id}`;
    }),
  },
  places: async (first) => {
    const [open, draft] = await Promise.all([
      first("/surveys?status=published&limit=1"),
      first("/surveys?status=draft&limit=1"),
    ]);
    const response = await first(`/surveys/${open}/responses?limit=1`);
    const at = (name: string, path: string) =>
      ({ name: `admin, surveys, ${name}`, path: `/admin/surveys${path}`, as: "owner" }) as const;
    return [
      at("list", ""),
      at("new", "/new"),
      at("draft", `/${draft}`),
      at("edited", `/${draft}/edit`),
      at("results", `/${open}`),
      at("texts", `/${open}/texts`),
      at("responses", `/${open}/responses`),
      at("response", `/${open}/responses/${response}`),
      at("share", `/${open}/share`),
      at("deleted", `/${open}/delete`),
    ];
  },
};

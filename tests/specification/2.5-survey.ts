import { expect } from "vitest";
import { at, choice, each, is, keys, section, types } from "./row.ts";

const numbers = { response_count: "integer", start_count: "integer", completion_rate: "fraction" } as const;
const statuses = ["draft", "published", "paused", "archived"];
const item = { id: "uuid", title: "string", status: statuses, ...numbers, created_at: "time", "closes_at?": "time" } as const;
const detail = "id title description status settings response_count start_count completion_rate timed_count avg_completion_time version_of url published_at closed_at created_at updated_at";
const details = { ...item, description: "string", settings: "object", timed_count: "integer", avg_completion_time: "number", version_of: "uuid or null", url: "string", published_at: "time or null", closed_at: "time or null", updated_at: "time" } as const;
const settings = { allow_multiple_responses: "boolean", show_branding: "boolean", "redirect_url?": "string" } as const;
const question = { id: "uuid", type: ["nps", "rating", "multiple_choice", "text", "email"], text: "string", required: "boolean", order: "integer" } as const;
const stored = { id: "uuid", respondent: "object or null", answers: "array", started_at: "time or null", submitted_at: "time", duration_seconds: "number or null", sentiment: "string or null", sentiment_score: "number or null", locale: "string or null" } as const;
const analytics = { ...numbers, timed_count: "integer", avg_completion_time: "number", nps_count: "integer", nps_score: "number", sentiment: "object", breakdown_by_question: "array" } as const;
const sentiment = { overall: "number", scored_count: "integer", positive_count: "integer", neutral_count: "integer", negative_count: "integer" } as const;
const names = (fields: object) => Object.keys(fields).join(" ");
const read = "GET /surveys/:measured";
const questions = "GET /surveys/:open?expand=questions";
const list = "GET /surveys/:measured/responses";
const answer = { answers: [{ question_id: ":open.nps", value: 9 }] };

export default section("2.5 Survey", [
  ["2.5.1", "admin", ["GET /surveys", undefined, { needs: ":measured" }], 200, keys("id title status response_count start_count completion_rate created_at"), types(item), [{ response_count: 4, start_count: 6, completion_rate: 0.6667 }]],
  ["2.5.1", "admin", ["GET /surveys", undefined, { needs: ":full" }], 200, keys("id title status response_count start_count completion_rate created_at closes_at"), types(item)],
  ["2.5.2", "nobody", "GET /surveys/:open", 200, keys(detail), types(details), { title: "A survey", status: "published", description: "", closed_at: null, version_of: null }],
  ["2.5.2", "admin", "GET /surveys/:full", 200, keys(`${detail} closes_at`), types(details), { description: "Six questions", published_at: null }],
  ["2.5.2", "nobody", read, 200, types(details), { completion_rate: 0.6667, avg_completion_time: 75 }],
  ["2.5.2", "admin", "GET /surveys/:version", 200, types(details), { version_of: ":open" }],
  ["2.5.2", "nobody", "GET /surveys/:archived", 200, types({ ...details, published_at: "time", closed_at: "time" }), { status: "archived" }],
  ["2.5.3", "admin", "GET /surveys/:full", 200, at("settings", types(settings), is({ allow_multiple_responses: false, show_branding: true, redirect_url: "https://example.org/thanks" }))],
  ["2.5.4", "nobody", "GET /surveys/:open", 200, at("settings", types(settings), is({ allow_multiple_responses: false, show_branding: true }))],
  ["2.5.4", "admin", ["PATCH /surveys/:full", { settings: { redirect_url: null }, closes_at: null }], 200, keys(detail), at("settings", keys("allow_multiple_responses show_branding"))],

  ["2.5.5", "nobody", questions, 200, keys(`${detail} questions`), at("questions", types(question), each("order", [1, 2, 3, 4, 5, 6]))],
  ["2.5.5", "nobody", questions, 200, at("questions", each("type", ["nps", "rating", "multiple_choice", "multiple_choice", "text", "email"]), each("required", [true, false, false, false, false, false]))],
  ["2.5.5", "nobody", questions, 200, at("questions.0", keys("id type text required order")), at("questions.4", keys("id type text required order")), at("questions.5", keys("id type text required order"))],
  ["2.5.6", "nobody", questions, 200, at("questions.1", keys("id type text required order scale"), { scale: 5 })],
  ["2.5.7", "nobody", questions, 200, at("questions.2", keys("id type text required order multiple options"), { multiple: false }), at("questions.3", { multiple: true })],
  ["2.5.7", "nobody", questions, 200, at("questions.2.options", keys("id text order"), types({ id: "uuid", text: "string", order: "integer" }), each("text", ["Web", "iOS", "Android"]), each("order", [1, 2, 3]))],
  ["2.5.8", "admin", "GET /surveys/:open?expand=targeting", 200, keys(`${detail} targeting`), at("targeting", is({ audience: "everyone", submission_id: null, locales: null }))],
  ["2.5.8", "admin", "GET /surveys/:for_voters?expand=targeting", 200, at("targeting", is({ audience: "voters", submission_id: ":voted", locales: null }))],
  ["2.5.8", "admin", "GET /surveys/:in_german?expand=targeting", 200, at("targeting", is({ audience: "everyone", submission_id: null, locales: ["de", "ja"] }))],
  ["2.5.9", "admin", ["POST /surveys", { title: "A survey" }], 201, keys("id status url"), types({ id: "uuid", status: ["draft"], url: "string" }), ({ data }) => expect((data as { url: string }).url).toContain(`/surveys/${(data as { id: string }).id}`)],
  ["2.5.9", "nobody", "page /surveys/:open", 200],
  ["2.5.10", "user", ["POST /surveys/:open/responses", answer], 201, keys("response_id survey_id submitted_at"), types({ response_id: "uuid", survey_id: "uuid", submitted_at: "time" }), { survey_id: ":open" }],
  ["2.5.11", "admin", list, 200, keys(names(stored)), types(stored), each("duration_seconds", [null, null, 50, 100])],
  ["2.5.11", "admin", list, 200, at("0.respondent", keys("id name avatar is_team_member"), types({ id: "uuid", name: "string", avatar: "string", is_team_member: "boolean" }), { id: ":user", name: "Una User" })],
  [
    "2.5.11",
    "admin",
    "GET /surveys/:answered/responses",
    200,
    at(
      "0.answers",
      is([
        { question_id: ":answered.nps", value: 9 },
        { question_id: ":answered.rating", value: 4 },
        { question_id: ":answered.choice", value: "iOS" },
        { question_id: ":answered.choices", value: ["Votes", "Surveys"] },
        { question_id: ":answered.text", value: "Blue" },
      ]),
    ),
  ],
  ["2.5.12", "user", "POST /surveys/:open/start", 201, keys("survey_id started_at"), types({ survey_id: "uuid", started_at: "time" }), choice("the specification has no start")],
  ["2.5.13", "admin", `${read}/analytics`, 200, keys(names(analytics)), types(analytics)],
  ["2.5.13", "admin", `${read}?expand=analytics`, 200, keys(`${detail} analytics`), at("analytics", keys(names(analytics)), types(analytics))],
  ["2.5.14", "admin", `${read}/analytics`, 200, at("sentiment", keys(names(sentiment)), types(sentiment))],
  ["2.5.15", "admin", `${read}/analytics`, 200, at("breakdown_by_question", keys("question_id question_text type answer_count responses counts"), types({ question_id: "uuid", question_text: "string", type: question.type, answer_count: "integer", responses: "object", counts: "array" }))],
  ["2.5.15", "admin", `${read}/analytics`, 200, at("breakdown_by_question", each("question_id", [":measured.nps", ":measured.rating", ":measured.choice", ":measured.choices", ":measured.text", ":measured.email"]), each("answer_count", [4, 3, 3, 2, 0, 1]))],
  ["2.5.16", "admin", "GET /surveys/:open/analytics", 200, types(analytics), at("sentiment", is({ overall: 0, scored_count: 0, positive_count: 0, neutral_count: 0, negative_count: 0 }))],
  ["2.5.16", "admin", "GET /surveys/:open/analytics", 200, { response_count: 0, start_count: 0, completion_rate: 0, timed_count: 0, avg_completion_time: 0, nps_count: 0, nps_score: 0 }],
  ["2.5.16", "admin", "GET /surveys/:open/analytics", 200, at("breakdown_by_question.2.responses", is({ Web: 0, iOS: 0, Android: 0 }))],
  ["2.5.17", "nobody", ["from surveys", [":open"], (table, id) => table.select("id,title,description,status,closes_at,created_at").eq("id", id)], 200, keys("id title description status closes_at created_at"), types({ id: "uuid", title: "string", status: statuses, closes_at: "time or null", created_at: "time" })],
  ["2.5.17", "nobody", ["from survey_questions", [":open"], (table, id) => table.select("id,type,text,required,position").eq("survey_id", id)], 200, types({ id: "uuid", type: question.type, text: "string", required: "boolean", position: "integer" })],
  ["2.5.17", "nobody", ["from survey_options", [":open.choice"], (table, id) => table.select("id,text,position").eq("question_id", id).order("position")], 200, each("text", ["Web", "iOS", "Android"])],
]);

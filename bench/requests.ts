import type { Board } from "./board.ts";
import { randomFrom, reply, topics } from "./text.ts";

export interface BenchRequest {
  method: "GET" | "POST";
  path: string;
  /** Index into board.callers. */
  caller?: number;
  /** Index into board.keys, instead of a caller. */
  key?: number;
  body?: string;
  /** Status expected of the API and the floor. */
  status: number;
}

const page = "limit=50&order=desc";
const everything = "expand=author,category,tags,comments";
const random = randomFrom(3);

/** The requests of each measurement: no request of a run repeats, so that each vote is new. */
const requests = {
  "board, as a page": () => read("/?limit=20&sort=votes"),
  "board, by the API": () => read("/api/submissions?limit=20&sort=votes&order=desc&expand=category,tags"),
  "list, newest": () => read(`/api/submissions?${page}&sort=created_at`),
  "list, most voted": () => read(`/api/submissions?${page}&sort=votes`),
  "detail, expanded": (board, n) => read(`/api/submissions/${anySubmission(board, n * 31)}?${everything}`),
  "detail, by a caller": (board, n) => ({
    ...read(`/api/submissions/${anySubmission(board, n * 31)}?${everything}`),
    caller: n % board.callers.length,
  }),
  "list, by the data API": ({ publishableKey }) =>
    read(`/rest/v1/submissions?select=*&order=created_at.desc&limit=50&apikey=${publishableKey}`),
  search: (_board, n) => read(`/api/submissions/search?limit=20&q=${topics[n % topics.length]}`),
  "list, by an organization's key": (board, n) => ({
    ...read(`/api/submissions?${page}&sort=created_at`),
    key: n % board.keys.length,
  }),
  health: () => read("/api/health"),
  "list, by a key": (board, n) => ({
    ...read("/api/submissions?limit=20"),
    caller: n % board.callers.length,
  }),
  "list, by an agent": (board, n) => ({
    ...write("/api/mcp/tools", n % board.callers.length, {
      jsonrpc: "2.0",
      id: n,
      method: "tools/call",
      params: { name: "list_submissions", arguments: { limit: 20 } },
    }),
    status: 200,
  }),
  vote: (board, n) => write(`/api/submissions/${voted(board, n)}/vote`, n % board.callers.length, {}),
  comment: (board, n) =>
    write(`/api/submissions/${anySubmission(board, n * 37)}/comments`, n % board.callers.length, {
      body: reply(random),
    }),
  respond: (board, n, survey) =>
    write(`/api/surveys/${surveyOf(board, survey).id}/responses`, 1 + (n % (board.callers.length - 1)), {
      answers: surveyOf(board, survey).questionIds.map((question_id, i) => ({
        question_id,
        value: [n % 11, 1 + (n % 5), `Option ${1 + (n % 5)}`, reply(random)][i],
      })),
    }),
  analytics: (board, _n, survey) => ({
    ...read(`/api/surveys/${surveyOf(board, survey).id}/analytics`),
    caller: 0,
  }),
  "responses, newest": (board, _n, survey) => ({
    ...read(`/api/surveys/${surveyOf(board, survey).id}/responses?limit=50`),
    caller: 0,
  }),
} satisfies Record<string, (board: Board, n: number, survey: number) => BenchRequest>;

export type RequestName = keyof typeof requests;

export function requestOf(name: RequestName, board: Board, n: number, survey = 0): BenchRequest {
  return requests[name](board, n, survey);
}

function read(path: string): BenchRequest {
  return { method: "GET", path, status: 200 };
}

function write(path: string, caller: number, body: object): BenchRequest {
  return { method: "POST", path, caller, body: JSON.stringify(body), status: 201 };
}

function anySubmission(board: Board, n: number): string {
  return board.submissionIds[n % board.submissionIds.length] ?? "";
}

/** Each round starts one submission further, so no pair of user and submission repeats. */
function voted(board: Board, n: number): string {
  return anySubmission(board, n + Math.floor(n / board.callers.length));
}

function surveyOf({ surveys = [] }: Board, index: number) {
  const survey = surveys[index];
  if (!survey) throw new Error(`no survey ${index}`);
  return survey;
}

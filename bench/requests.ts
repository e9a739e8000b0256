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
  vote: (board, n) => write(`/api/submissions/${voted(board, n)}/vote`, n % board.callers.length, {}),
  comment: (board, n) =>
    write(`/api/submissions/${anySubmission(board, n * 37)}/comments`, n % board.callers.length, {
      body: reply(random),
    }),
} satisfies Record<string, (board: Board, n: number) => BenchRequest>;

export type RequestName = keyof typeof requests;

export function requestOf(name: RequestName, board: Board, n: number): BenchRequest {
  return requests[name](board, n);
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

import { stack } from "../stack.ts";

export interface RestCall {
  method?: "GET" | "HEAD" | "POST" | "PATCH" | "PUT" | "DELETE";
  token?: string | undefined;
  body?: unknown;
  headers?: Record<string, string>;
  apikey?: string;
  against?: { supabase_url: string; publishable_key: string };
}

export interface RestAnswer {
  status: number;
  text: string;
  /** The rows of a response, none of an error. */
  rows: Record<string, unknown>[];
  code: string | null;
  headers: Headers;
}

/** A request to the data API as anybody can write it; `path` begins after /rest/v1/. */
export async function rest(path: string, call: RestCall = {}): Promise<RestAnswer> {
  const { against = stack, token } = call;
  const response = await fetch(`${against.supabase_url}/rest/v1/${path}`, {
    method: call.method ?? (call.body === undefined ? "GET" : "POST"),
    headers: {
      apikey: call.apikey ?? against.publishable_key,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(call.body === undefined ? {} : { "content-type": "application/json" }),
      ...call.headers,
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
  });
  const text = await response.text();
  const json = parse(text);
  return {
    status: response.status,
    text,
    rows: response.ok && Array.isArray(json) ? json : [],
    code: !response.ok && typeof json === "object" && json && "code" in json ? String(json.code) : null,
    headers: response.headers,
  };
}

/** The function that clients call instead of inserting into the table; its arguments have the names of the columns. */
export const insertBy: Record<string, string> = {
  submissions: "create_submission",
  votes: "vote",
  comments: "create_comment",
  comment_votes: "vote_comment",
  follows: "follow",
  survey_responses: "submit_survey_response",
};

/** A function of the data API. */
export function rpc(name: string, body: unknown, call: RestCall = {}): Promise<RestAnswer> {
  return rest(`rpc/${name}`, { ...call, body });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

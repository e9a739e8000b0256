import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** An answer of Supabase Auth 2.196, as it was recorded. */
export interface Recorded {
  status: number;
  body?: object;
  headers?: Record<string, string>;
}

interface Asked {
  path: string;
  query: Record<string, string>;
  apikey: string | undefined;
  body: Record<string, unknown>;
}

type Answers = Record<string, Recorded | Recorded[]>;

export interface RecordedAuth {
  url: string;
  /** The requests that auth received at recorded paths, in order. */
  asked: Asked[];
  /** The answers from now on, by path below /auth/v1. A list is returned in order; its last answer is repeated. */
  answers(recorded: Answers): void;
  /** The answers for one address, for tests that run concurrently; returns the requests that auth receives about it. */
  answersAbout(email: string, recorded: Answers): Asked[];
  stop(): Promise<void>;
}

/** A stand-in for Supabase Auth: it returns recorded answers, and passes all other requests on to the embedded auth. */
export async function startRecordedAuth(embedded: () => string): Promise<RecordedAuth> {
  type Script = { answers: Map<string, Recorded[]>; asked: Asked[] };
  const newScript = (recorded: Answers): Script => ({
    answers: new Map(Object.entries(recorded).map(([path, answer]) => [path, [answer].flat()])),
    asked: [],
  });
  let general = newScript({});
  const byEmail = new Map<unknown, Script>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://auth.invalid");
    const path = pathname.replace("/auth/v1", "");
    const text = Buffer.concat(chunks).toString();
    const body = /^\{/.test(text) ? JSON.parse(text) : {};
    const script = byEmail.get(body.email) ?? general;
    const recorded = script.answers.get(path);
    const answer = recorded && recorded.length > 1 ? recorded.shift() : recorded?.[0];
    if (answer) {
      const query = Object.fromEntries(searchParams);
      script.asked.push({ path, query, apikey: request.headers.apikey?.toString(), body });
      const headers = { "content-type": "application/json", "x-supabase-api-version": "2024-01-01" };
      response.writeHead(answer.status, { ...headers, ...answer.headers });
      response.end(answer.body && JSON.stringify(answer.body));
      return;
    }
    const { host, connection, "content-length": length, ...headers } = request.headers;
    const passed = await fetch(embedded() + request.url, {
      method: request.method ?? "GET",
      headers: headers as Record<string, string>,
      redirect: "manual",
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const { "content-encoding": _, "content-length": __, ...kept } = Object.fromEntries(passed.headers);
    response.writeHead(passed.status, kept).end(Buffer.from(await passed.arrayBuffer()));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get asked() {
      return general.asked;
    },
    answers(recorded) {
      general = newScript(recorded);
    },
    answersAbout(email, recorded) {
      const script = newScript(recorded);
      byEmail.set(email, script);
      return script.asked;
    },
    stop: () =>
      new Promise((stopped) => {
        server.closeAllConnections();
        server.close(() => stopped());
      }),
  };
}

/** The form of an error of auth. */
export const refusal = (status: number, code: string, message = "", more: object = {}): Recorded => ({
  status,
  body: { code, message, ...more },
});

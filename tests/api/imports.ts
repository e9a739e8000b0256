import type { z } from "zod";
import { importAnswer } from "../../shared/imports.ts";
import { until } from "../until.ts";
import { answered, api, type Call, type Caller } from "./client.ts";

export type Import = z.output<typeof importAnswer>["data"];

/** Sends a file; the import as it was received. */
export async function sendImport(
  as: Caller,
  raw: Call["raw"],
  query = "",
  type = "application/x-ndjson",
  on?: Call["on"],
): Promise<Import> {
  const headers = { "content-type": type };
  const answer = await api("POST", `/api/admin/import${query}`, { as, on, raw, headers });
  const { data } = answered(answer, 202, importAnswer);
  return data;
}

/** The import once it has ended, whoever runs it. */
export async function endOf(as: Caller, id: string, on?: Call["on"]): Promise<Import> {
  return until(async () => {
    const { data } = answered(await api("GET", `/api/admin/imports/${id}`, { as, on }), 200, importAnswer);
    return data.state === "receiving" || data.state === "running" ? undefined : data;
  });
}

/** Sends a file and waits until the service has written it. */
export async function importFrom(...[as, raw, query, type, on]: Parameters<typeof sendImport>) {
  return endOf(as, (await sendImport(as, raw, query, type, on)).id, on);
}

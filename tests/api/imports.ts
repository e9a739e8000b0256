import type { z } from "zod";
import { importAnswer } from "../../shared/imports.ts";
import { until } from "../until.ts";
import { api, type Call, type Caller, expectJson, getJson } from "./client.ts";
import { type Key, newKey, newOrganization, type Organization } from "./world.ts";

export type Board = { organization: Organization; key: Key };

/** An organization and a key that imports into it. */
export async function newBoard(settings: Parameters<typeof newOrganization>[0] = {}): Promise<Board> {
  const organization = await newOrganization(settings);
  return { organization, key: await newKey(organization, ["submissions:moderate"]) };
}

export type Import = z.output<typeof importAnswer>["data"];

/** Uploads a file and returns the import as accepted. */
export async function sendImport(
  as: Caller,
  raw: Call["raw"],
  query = "",
  type = "application/x-ndjson",
  on?: Call["on"],
): Promise<Import> {
  const headers = { "content-type": type };
  const answer = await api("POST", `/api/admin/import${query}`, { as, on, raw, headers });
  const { data } = expectJson(answer, 202, importAnswer);
  return data;
}

/** Runs the import as its client may, because the schedule returns to a waiting import only after ten seconds. */
export async function runToEnd(as: Caller, id: string): Promise<Import> {
  return until(async () => {
    const answer = await api("POST", `/api/admin/imports/${id}/run`, { as });
    const { data } = expectJson(answer, 200, importAnswer);
    return data.state === "running" ? undefined : data;
  }, 60_000);
}

/** The import after it has ended, whichever worker runs it. */
export async function endOf(as: Caller, id: string, on?: Call["on"]): Promise<Import> {
  return until(async () => {
    const { data } = await getJson(`/api/admin/imports/${id}`, importAnswer, { as, on });
    return data.state === "receiving" || data.state === "running" ? undefined : data;
  }, 60_000);
}

/** Uploads a file and waits until the service has written it. */
export async function importFrom(...[as, raw, query, type, on]: Parameters<typeof sendImport>) {
  return endOf(as, (await sendImport(as, raw, query, type, on)).id, on);
}

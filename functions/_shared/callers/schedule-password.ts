import { createHash, timingSafeEqual } from "node:crypto";
import { environment } from "../runtime/environment.ts";

/** Whether the request has the password with which the database calls the functions. */
export function showsSchedulePassword(request: Request): boolean {
  const password = environment.webhookDispatchSecret;
  const given = request.headers.get("Authorization") ?? "";
  return password !== undefined && timingSafeEqual(digestOf(given), digestOf(`Bearer ${password}`));
}

function digestOf(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

import { dispatchDatabase } from "../_shared/dispatch/database.ts";
import { environment } from "../_shared/runtime/environment.ts";

/** A claimed delivery with everything needed to send it; the claim lasts 30 seconds. */
export type Claim = {
  webhook_id: string;
  event_id: string;
  attempt: number;
  claimed_at: Date;
  url: string;
  encrypted_secret: string;
  previous_encrypted_secret: string | null;
  organization_id: string;
  event: string;
  occurred_at: Date;
  /** Null if the event was deleted. */
  data: Record<string, unknown> | null;
};

/** Result of an attempt. */
export type Result = Pick<Claim, "webhook_id" | "event_id" | "attempt"> & {
  duration_ms: number;
  status_code?: number;
  response_body?: string;
  /** Why there is no complete response. */
  error?: string;
  /** Retry-After of the receiver in seconds. */
  retry_after?: number;
  /** Do not retry. */
  is_final?: boolean;
};

const query = dispatchDatabase("WEBHOOK_DATABASE_URL", environment.webhookDatabaseUrl, "feedback_webhooks");

const eventBatch = 500;

/** Creates deliveries for new events. more: there are further events; held_back: they wait for an open transaction. */
export async function fanOut(): Promise<{ more: boolean; held_back: boolean }> {
  const [row] = await query<{ events: number; held_back: boolean }>(
    (sql) => sql`select events, held_back from private.fan_out_events(${eventBatch})`,
  );
  return { more: row?.events === eventBatch, held_back: row?.held_back === true };
}

/** Records results of deliveries and claims due ones. */
export function reportAndClaim(results: readonly Result[], limit: number): Promise<readonly Claim[]> {
  return query<Claim>(
    (sql) =>
      sql<
        Claim[]
      >`select * from private.record_and_claim_deliveries(${JSON.stringify(results)}::text::jsonb, ${limit})`,
  );
}

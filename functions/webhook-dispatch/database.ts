import postgres from "postgres";
import { connectingTo } from "../_shared/database-socket.ts";
import { environment } from "../_shared/environment.ts";

/** A delivery this dispatcher holds for 30 seconds, with all it takes to send it. */
export type Claim = {
  webhook_id: string;
  event_id: string;
  attempt: number;
  claimed_at: Date;
  is_healthy: boolean;
  url: string;
  sealed_secret: string;
  previous_sealed_secret: string | null;
  organization_id: string;
  event: string;
  occurred_at: Date;
  /** Null where the event is no longer kept. */
  data: Record<string, unknown> | null;
};

/** What came of an attempt. */
export type Result = Pick<Claim, "webhook_id" | "event_id" | "attempt"> & {
  duration_ms: number;
  status_code?: number;
  response_body?: string;
  /** Why there is no whole answer. */
  error?: string;
  /** Seconds the receiver asked to wait. */
  retry_after?: number;
  /** There is no use in another attempt. */
  is_final?: boolean;
};

// Not the functions' other login: this one may do nothing but dispatch.
if (!environment.webhookDatabaseUrl)
  throw new Error("WEBHOOK_DATABASE_URL is missing: the URL of role feedback_webhooks (docs/deploy.md)");
const url = environment.webhookDatabaseUrl;

let sql = connect();

function connect() {
  // The types of postgres.js do not know `socket`.
  const transport = connectingTo("WEBHOOK_DATABASE_URL", url);
  return postgres(url, {
    ...transport,
    max: 1,
    idle_timeout: 30,
    connect_timeout: 5,
    prepare: environment.databasePrepare,
    connection: { application_name: "feedback-webhooks" },
    onnotice: () => {},
  });
}

const longestAnswerMs = 20_000;

/** One statement at a time, on a connection that is given up where it does not answer. */
async function query<Row>(make: (sql: postgres.Sql) => PromiseLike<readonly Row[]>): Promise<readonly Row[]> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("The database did not answer in time.")), longestAnswerMs);
  });
  try {
    return await Promise.race([make(sql), overdue]);
  } catch (error) {
    sql.end({ timeout: 0 }).catch(() => {});
    sql = connect();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

const eventsAtOnce = 500;

/** Makes deliveries of new events. more: there are others; held_back: others wait for an open transaction. */
export async function fanOut(): Promise<{ more: boolean; held_back: boolean }> {
  const [row] = await query<{ events: number; held_back: boolean }>(
    (sql) => sql`select events, held_back from private.fan_out_events(${eventsAtOnce})`,
  );
  return { more: row?.events === eventsAtOnce, held_back: row?.held_back === true };
}

/** Records what came of deliveries, and takes others that are due. */
export function exchange(
  results: readonly Result[],
  most: number,
  mostUnproven: number,
): Promise<readonly Claim[]> {
  return query<Claim>(
    (sql) =>
      sql<
        Claim[]
      >`select * from private.exchange_deliveries(${JSON.stringify(results)}::text::jsonb, ${most}, ${mostUnproven})`,
  );
}

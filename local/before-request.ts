import { AsyncLocalStorage } from "node:async_hooks";
import type { PostgresConnection } from "@supabase/lite/postgres";

const requests = new AsyncLocalStorage<Request>();

/** @supabase/lite passes JSON as text, which postgres.js would quote again. */
const json = (oid: number) => ({
  to: oid,
  from: [oid],
  serialize: (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value)),
  parse: JSON.parse,
});
export const jsonTypes = { json: json(114), jsonb: json(3802) };

/** Handles a request of the data API and makes it available to `callBeforeRequest`. */
export function withRequest<Result>(request: Request, answer: () => Promise<Result>): Promise<Result> {
  return requests.run(request, answer);
}

/** Equivalent of PostgREST's `pgrst.db_pre_request`: runs private.before_request in the transaction of each request. */
export function callBeforeRequest(connection: PostgresConnection): void {
  const { withContext } = connection;
  connection.withContext = (vars, use, options) =>
    withContext.call(
      connection,
      vars,
      async (transaction) => {
        const request = requests.getStore();
        const prefer = request?.headers.get("prefer");
        // Plain reads need none of its checks.
        if (request && (prefer || !/^(?:GET|HEAD)$/.test(request.method))) {
          const headers = JSON.stringify({ prefer: prefer ?? "" });
          await transaction
            .selectNoFrom((of) => [
              of
                .fn("set_config", [of.val("request.method"), of.val(request.method), of.val(true)])
                .as("method"),
              of.fn("set_config", [of.val("request.headers"), of.val(headers), of.val(true)]).as("headers"),
              of.fn("private.before_request").as("done"),
            ])
            .execute();
        }
        return use(transaction);
      },
      options,
    ) as never;
}

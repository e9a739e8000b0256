/**
 * PostgREST rejects embedding in function results without relationships before it calls the function. lite would read
 * whole tables in the transaction of the call, which keeps its locks.
 */
export function rejectEmbeddedFunctionResults(request: Request): Response | undefined {
  const { pathname, searchParams } = new URL(request.url);
  const isTable = /^\/rest\/v1\/[\w-]*$/.test(pathname);
  if (isTable || !searchParams.getAll("select").some((list) => list.includes("("))) return undefined;
  const called = pathname.slice(pathname.lastIndexOf("/") + 1);
  const error = {
    code: "PGRST200",
    details: null,
    hint: "Call the function first, then read the table.",
    message: `Could not find a relationship of the function '${called}': its result cannot embed tables`,
  };
  return Response.json(error, { status: 400 });
}

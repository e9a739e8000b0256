const noFilters = new Set(["select", "columns", "order", "limit", "offset", "on_conflict", "apikey"]);

/**
 * Equivalent of the extension safeupdate, which hosted Supabase loads for the data API: rejects a PATCH or DELETE
 * without filter.
 */
export function rejectUnfilteredWrite(request: Request): Response | undefined {
  const { pathname, searchParams } = new URL(request.url);
  if (!pathname.startsWith("/rest/v1/") || !["PATCH", "DELETE"].includes(request.method)) return undefined;
  // A filter on an embedded table, such as comments.body, does not restrict the rows.
  const isFilter = (name: string) => !noFilters.has(name) && !/^(?!not\.).+\./.test(name);
  if ([...searchParams.keys()].some(isFilter)) return undefined;
  const command = request.method === "PATCH" ? "UPDATE" : "DELETE";
  const error = { code: "21000", details: null, hint: null, message: `${command} requires a WHERE clause` };
  return Response.json(error, { status: 400 });
}

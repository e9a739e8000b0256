/** Errors in GoTrue's format, which supabase-js parses. */
export function goTrueError(status: number, code: string, message: string, retryAfter?: number): Response {
  return Response.json(
    { code: status, error_code: code, msg: message },
    {
      status,
      headers: { "x-sb-error-code": code, ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }) },
    },
  );
}

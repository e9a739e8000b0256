/** A start failure that the operator can fix: shown as one line, without a stack trace. */
export class StartError extends Error {
  override name = "StartError";
}

export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .join("; ");
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

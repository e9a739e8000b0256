// Error codes that lite maps like PostgREST; it would turn others into a 500 without details.
const known = /^(?:PGRST|PT\d{3}|42|22|21|55|53|23502|23503|23505|25006)/;
const forbidden = /^(?:28|0L|0P)/;
const broken = /^(?:08|09|25|2D|38|39|3B|40|54|57|58|F0|HV|P0(?!001)|XX)/;

/** Other database errors, including our SQLSTATEs, in a format that lite passes on. */
export function asPostgrest(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return error;
  if (!/^[0-9A-Z]{5}$/.test(error.code) || known.test(error.code)) return error;
  const { code, message } = error;
  const details = "detail" in error ? (error.detail ?? null) : null;
  const hint = "hint" in error ? (error.hint ?? null) : null;
  const status = forbidden.test(code) ? 403 : broken.test(code) ? 500 : 400;
  return {
    code: "PGRST",
    message: JSON.stringify({ code, message, details, hint }),
    detail: JSON.stringify({ status, headers: {} }),
  };
}

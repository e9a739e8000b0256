const json = "application/json";
const events = "text/event-stream";

/** The media types that an Accept header takes: for each, the most specific range decides (RFC 9110). */
export function mediaTypesIn(accept: string | undefined): { json: boolean; events: boolean } {
  const ranges = (accept?.trim() || "*/*")
    .toLowerCase()
    .split(",")
    .map((range) => range.split(";").map((part) => part.trim()));
  const takes = (type: string) => {
    const names = [type, `${type.split("/")[0]}/*`, "*/*", "*"];
    const [range] = names.flatMap((name) => ranges.filter(([own]) => own === name));
    return range !== undefined && !range.some((part) => /^q\s*=\s*0(\.0*)?$/.test(part));
  };
  return { json: takes(json), events: takes(events) };
}

/** The request as the SDK reads it: it answers only clients that name both media types. */
export function namingBoth({ url, method, headers: sent, signal }: Request): Request {
  const headers = new Headers(sent);
  headers.set("Accept", `${json}, ${events}`);
  return new Request(url, { method, headers, signal });
}

/** The response in the media type that the client takes. A JSON response is the last message of the events. */
export async function inMediaType(response: Response, takes: { json: boolean; events: boolean }): Promise<Response> {
  const type = response.headers.get("Content-Type") ?? "";
  const isEvents = type.startsWith(events);
  if (!response.ok || (isEvents ? takes.events : takes.json || !type.startsWith(json))) return response;
  const text = await response.text();
  const [last = ""] = text.match(/^data: .*$/gm)?.slice(-1) ?? [];
  return isEvents
    ? new Response(last.slice("data: ".length), { headers: { "Content-Type": json } })
    : new Response(`event: message\ndata: ${text}\n\n`, { headers: { "Content-Type": events } });
}

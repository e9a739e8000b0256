/** The origin of SITE_URL, below which all pages are; undefined for any other text. A slash at the end is no path. */
export function siteOrigin(text: string): string | undefined {
  try {
    const url = new URL(text);
    return /^https?:$/.test(url.protocol) && url.href.replace(/\/+$/, "") === url.origin ? url.origin : undefined;
  } catch {
    // Not URL.canParse: in Node 20 and 22 it refuses names with umlauts once it is optimized.
    return undefined;
  }
}

export const siteUrlAdvice = "an address without a path, such as https://feedback.example.org";

/** The origin of SITE_URL, below which all pages are; undefined for any other text. A slash at the end is no path. */
export function siteOrigin(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  return url.href.replace(/\/+$/, "") === url.origin ? url.origin : undefined;
}

export const siteUrlAdvice = "an address without a path, such as https://feedback.example.org";

const address = /https?:\/\/[^\s<>"“”«»]+/giu;

/** Splits text into URLs and the text between them, in linear time. */
export function withLinks(text: string): { part: string; isLink: boolean }[] {
  const parts = [];
  let at = 0;
  for (const { 0: found, index } of text.matchAll(address)) {
    const link = withoutPunctuation(found);
    if (!URL.canParse(link)) continue;
    parts.push({ part: text.slice(at, index), isLink: false }, { part: link, isLink: true });
    at = index + link.length;
  }
  return [...parts, { part: text.slice(at), isLink: false }];
}

/** Removes punctuation at the end, except a bracket that was opened within the URL. Linear time. */
function withoutPunctuation(found: string): string {
  let unopened = 0;
  for (const character of found) unopened += character === ")" ? 1 : character === "(" ? -1 : 0;
  let end = found.length;
  for (; end > 0; end--) {
    const last = found.charAt(end - 1);
    if (last === ")" && unopened > 0) unopened--;
    else if (!".,:;!?'’*_".includes(last)) break;
  }
  return found.slice(0, end);
}

const address = /https?:\/\/[^\s<>"“”«»]+/giu;

/** Text in parts: what is a web address, and what stands between. The time it takes grows with the length alone. */
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

/** What ends the sentence is not the address; a bracket that the address itself opened is. In one pass over the text. */
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

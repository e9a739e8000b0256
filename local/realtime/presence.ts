import { Frame } from "./frames.ts";

interface Entry {
  name: string;
  meta: Record<string, unknown>;
}

let lastReference = 0;

/** Who says they are here, under which name; one name may be several tabs. */
export class Presence<M> {
  private readonly entries = new Map<M, Entry>();

  /** The news for everyone on the topic. Of an update the leave comes first, by itself: in one diff clients would keep both. */
  track(member: M, name: string, payload: Record<string, unknown>): Frame[] {
    const before = this.entries.get(member);
    const previous = before?.meta.phx_ref;
    const meta = {
      ...payload,
      phx_ref: `r${++lastReference}`,
      ...(previous ? { phx_ref_prev: previous } : {}),
    };
    this.entries.set(member, { name, meta });
    return [...(before ? [diff([], [before])] : []), diff([{ name, meta }], [])];
  }

  untrack(member: M): Frame[] {
    const before = this.entries.get(member);
    this.entries.delete(member);
    return before ? [diff([], [before])] : [];
  }

  state(): Record<string, { metas: unknown[] }> {
    return byName([...this.entries.values()]);
  }
}

const diff = (joins: Entry[], leaves: Entry[]) =>
  new Frame("presence_diff", JSON.stringify({ joins: byName(joins), leaves: byName(leaves) }));

function byName(entries: Entry[]): Record<string, { metas: unknown[] }> {
  const names = new Map<string, { metas: unknown[] }>();
  for (const { name, meta } of entries) {
    const group = names.get(name) ?? { metas: [] };
    group.metas.push(meta);
    names.set(name, group);
  }
  return Object.fromEntries(names);
}

import { Frame } from "./frames.ts";

interface Entry {
  name: string;
  meta: Record<string, unknown>;
}

let lastReference = 0;

/** Presences by key; one key may have several, such as tabs. */
export class Presence<M> {
  private readonly entries = new Map<M, Entry>();

  /** Diffs for the topic. An update sends the leave first and separately: in one diff clients would keep both. */
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

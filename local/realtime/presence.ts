import { Frame } from "./frames.ts";

interface Entry {
  name: string;
  meta: Record<string, unknown>;
}

let lastReference = 0;

/** Who says they are here, under which name; one name may be several tabs. */
export class Presence<M> {
  private readonly entries = new Map<M, Entry>();

  /** The news for everyone on the topic, or null when there is none. */
  track(member: M, name: string, payload: Record<string, unknown>): Frame | null {
    const before = this.entries.get(member);
    const previous = before?.meta.phx_ref;
    const meta = {
      ...payload,
      phx_ref: `r${++lastReference}`,
      ...(previous ? { phx_ref_prev: previous } : {}),
    };
    this.entries.set(member, { name, meta });
    return diff([{ name, meta }], before ? [before] : []);
  }

  untrack(member: M): Frame | null {
    const before = this.entries.get(member);
    if (before === undefined) return null;
    this.entries.delete(member);
    return diff([], [before]);
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

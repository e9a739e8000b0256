import type { Frame } from "./frames.ts";
import { Presence } from "./presence.ts";

/** A channel as its topic sees it. */
export interface Member {
  hearsBroadcasts: boolean;
  hearsPresence: boolean;
  send(frame: Frame): void;
}

interface Topic<M extends Member> {
  members: Set<M>;
  presence: Presence<M>;
}

/** Channels by topic. A private and a public topic of the same name are unrelated. */
export class Topics<M extends Member> {
  private readonly topics = new Map<string, Topic<M>>();

  join(key: string, member: M): void {
    const topic = this.topics.get(key) ?? { members: new Set(), presence: new Presence() };
    this.topics.set(key, topic);
    topic.members.add(member);
  }

  leave(key: string, member: M): void {
    const topic = this.topics.get(key);
    if (topic === undefined) return;
    topic.members.delete(member);
    this.announce(key, topic.presence.untrack(member));
    if (topic.members.size === 0) this.topics.delete(key);
  }

  broadcast(key: string, frame: Frame, except?: M): void {
    for (const member of this.topics.get(key)?.members ?? []) {
      if (member !== except && member.hearsBroadcasts) member.send(frame);
    }
  }

  track(key: string, member: M, name: string, meta: Record<string, unknown>): void {
    this.announce(key, this.topics.get(key)?.presence.track(member, name, meta) ?? []);
  }

  untrack(key: string, member: M): void {
    this.announce(key, this.topics.get(key)?.presence.untrack(member) ?? []);
  }

  present(key: string): string {
    return JSON.stringify(this.topics.get(key)?.presence.state() ?? {});
  }

  private announce(key: string, news: Frame[]): void {
    for (const frame of news) {
      for (const member of this.topics.get(key)?.members ?? []) if (member.hearsPresence) member.send(frame);
    }
  }
}

export const topicKey = (name: string, isPrivate: boolean) => `${isPrivate ? "private" : "public"}:${name}`;

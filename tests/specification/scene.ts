import { newOrganization, type Organization } from "../api/world.ts";
import { makers, nameOf } from "./makers/index.ts";
import type { Made, Maker, Thing } from "./makers/maker.ts";

// A name in a text: ":idea" is its id, ":idea.ID" that in capitals, ":idea.title" another field. The colon of "surveys:read" follows a letter.
const named = /(?<!\w):([a-z]\w*(?: \w+:\w+)?)(?:\.(\w+))?/gi;

/** What a row has made: an organization of its own, and each thing that the row names, when it is first named. */
export class Scene implements Made {
  readonly organization: Promise<Organization>;
  private readonly made = new Map<string, Promise<Thing>>();

  constructor(settings: Parameters<typeof newOrganization>[0] = {}) {
    this.organization = newOrganization(settings);
  }

  /** Makes the thing, once. */
  get(name: string): Promise<Thing> {
    const thing = this.made.get(name) ?? (makers[nameOf(name)] as Maker)(this, name);
    this.made.set(name, thing);
    return thing;
  }

  async id(name: string): Promise<string> {
    return (await this.get(name)).id;
  }

  /** Fills in the names in every text of a value. Other objects than plain ones stay as they are. */
  async fill<Value>(value: Value): Promise<Value> {
    if (typeof value === "string") return (await this.filled(value)) as Value;
    if (Array.isArray(value)) return (await Promise.all(value.map((item) => this.fill(item)))) as Value;
    if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
    const entries = Object.entries(value).map(async ([key, item]) => [key, await this.fill(item)]);
    return Object.fromEntries(await Promise.all(entries));
  }

  private async filled(text: string): Promise<string> {
    let result = "";
    let end = 0;
    for (const { 0: all, 1: name = "", 2: field = "id", index } of text.matchAll(named)) {
      const thing = await this.get(name);
      const value = field === "ID" ? thing.id.toUpperCase() : thing[field];
      if (value === undefined) throw new Error(`:${name} has no ${field}`);
      result += text.slice(end, index) + value;
      end = index + all.length;
    }
    return result + text.slice(end);
  }

  /** The text with the names of things in place of their ids, and of times and secrets, for the page of examples. */
  async described(text: string): Promise<string> {
    const { id } = await this.organization;
    let result = text.replaceAll(id, "<organization>");
    for (const [name, thing] of this.made) {
      for (const [field, value] of Object.entries(await thing)) {
        if (value === undefined || value.length <= 20) continue;
        const shown = field === "id" ? `<${name}>` : `<${name}.${field}>`;
        result = result.replaceAll(value, shown).replaceAll(value.toUpperCase(), shown);
      }
    }
    return result
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "<uuid>")
      .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.]*(Z|[+-]\d\d:\d\d)/g, "<time>")
      .replaceAll(/\b(fcs_[a-z]+_|whsec_)[\w+/=-]{10,}/g, "$1<secret>")
      .replaceAll(/\b(wh|evt)_[0-9a-f]{32}\b/g, "$1_<id>")
      .replaceAll(
        /"(last_four|address|id|duration_ms|avg_completion_time)":("\S{4}"|"[0-9a-f]{32}"|[\d.]+)/g,
        '"$1":"<$1>"',
      )
      .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):\d+/g, "<base_url>")
      .replaceAll(/(cursor"?[:=]"?)[\w-]{9,}/g, "$1<cursor>");
  }
}

/** Pseudo-random numbers from 0 to 1 with a fixed seed, so that every run measures the same board. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Each text has one topic, so that searching for it matches a hundredth of a board. */
export const topics = `
  calendar invoices webhooks timesheets dashboards forecasts reminders signatures barcodes budgets
  kanban roadmaps payroll refunds vouchers quotes warehouses pallets mileage allergens
  translations glossaries subtitles playlists bookmarks annotations footnotes diagrams spreadsheets slideshows
  passkeys permissions auditing retention encryption backups snapshots firewalls tunnels certificates
  shuttles ferries trams bicycles scooters parking tolls fuel batteries chargers
  orchards greenhouses irrigation livestock beehives tractors harvests seedlings compost drainage
  clinics vaccines prescriptions ambulances wheelchairs dentists nutrition allergies physiotherapy insurance
  museums libraries theatres festivals orchestras galleries archives workshops lectures exhibitions
  thermostats elevators lighting plumbing scaffolding cranes blueprints concrete insulation roofing
  surveys newsletters coupons loyalty mentions hashtags podcasts livestreams emojis avatars`
  .trim()
  .split(/\s+/);

const openings = [
  "Support for",
  "A better way to handle",
  "Bulk editing of",
  "Sharing",
  "Import and export of",
  "Offline access to",
];
const closings = [
  "on the phone",
  "for large teams",
  "across projects",
  "with keyboard only",
  "in dark mode",
  "without signing in again",
];
const sentences = [
  "We use {topic} every day and the current screen takes far too many clicks.",
  "Our team of forty people keeps asking for this, mostly those who work outside the office.",
  "When the list grows beyond a few hundred rows, {topic} become hard to find.",
  "It would already help if the filter remembered what I chose the last time.",
  "Other tools let you drag {topic} between columns, which saves us an hour a week.",
  "At the moment we copy everything into another file by hand and make mistakes.",
  "Please keep the old behaviour behind a setting, because our training material shows it.",
  "The error only says that something failed, and nobody knows what to do next.",
  "A small export button next to {topic} would be enough for the first version.",
  "I can share a recording of how our customers work around it today.",
];
const replies = [
  "Same here, this would save us a lot of time every week.",
  "We solved it with {topic} in a second project, but that is not a long-term answer.",
  "Could this also cover people who only have read access?",
  "Thanks for writing this down. It is exactly what our customers ask for.",
  "Is there a date for it? We are planning our next quarter around {topic}.",
];

export interface Text {
  title: string;
  description: string;
}

export function feedback(random: () => number): Text {
  const topic = oneOf(topics, random);
  const length = 2 + Math.floor(random() * 5);
  const start = Math.floor(random() * sentences.length);
  const chosen = Array.from({ length }, (_, i) => sentences[(start + i * 3) % sentences.length] ?? "");
  return {
    title: `${oneOf(openings, random)} ${topic} ${oneOf(closings, random)}`,
    description: chosen.join(" ").replaceAll("{topic}", topic),
  };
}

export function reply(random: () => number): string {
  return oneOf(replies, random).replaceAll("{topic}", oneOf(topics, random));
}

function oneOf(list: readonly string[], random: () => number): string {
  return list[Math.floor(random() * list.length)] ?? "";
}

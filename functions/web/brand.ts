type Rgb = [number, number, number];

/** Minimum contrast of an accent color as text: 4.5 by WCAG 2.2 AA. */
const contrast = 4.5;
const paper = { light: "#ffffff", dark: "#18181b" };

/**
 * The brand colors for both themes: the nearest color with enough contrast on the page, and the text color on
 * top of it.
 */
export function brandColors(color: string) {
  const light = readableOn(paper.light, color, "#000000");
  const dark = readableOn(paper.dark, color, "#ffffff");
  return { light, dark, onLight: textOn(light), onDark: textOn(dark) };
}

function readableOn(ground: string, color: string, towards: string): string {
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = mix(color, towards, share);
    // A tinted background, such as that of a selected item, is a little nearer to the color.
    if (ratio(mixed, mix(ground, mixed, 0.12)) >= contrast) return mixed;
  }
  return towards;
}

const textOn = (ground: string) => (ratio("#ffffff", ground) >= ratio("#111113", ground) ? "#ffffff" : "#111113");

const parse = (hex: string): Rgb => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as Rgb;

function mix(color: string, other: string, share: number): string {
  const [from, to] = [parse(color), parse(other)];
  return `#${from
    .map((part, at) =>
      Math.round(part + ((to[at] ?? 0) - part) * share)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

/** The contrast ratio of two colors by WCAG: 1 to 21. */
export function ratio(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = parse(hex).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

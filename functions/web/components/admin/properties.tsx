import type { Child } from "hono/jsx";

type Property = readonly [label: string, value: Child | undefined];

/** Labels with their values; one without a value is left out. */
export const Properties = ({ of }: { of: readonly Property[] }) => (
  <dl class="properties">
    {of
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([label, value]) => (
        <>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </>
      ))}
  </dl>
);

type Tab = { href: string; target?: string | undefined; label: string; isHere: boolean };

type Props = { label: string; tabs: Tab[] /** Of a filter "true". */; current?: "page" | "true" };

/** The pages of one area, or the values of a filter. */
export const Tabs = ({ label, tabs, current = "page" }: Props) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ label, isHere, ...link }) => (
      <a {...link} aria-current={isHere ? current : undefined}>
        {label}
      </a>
    ))}
  </nav>
);

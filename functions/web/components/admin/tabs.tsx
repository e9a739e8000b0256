type Tab = { href: string; label: string; isHere: boolean };

/** The pages of one area. */
export const Tabs = ({ label, tabs }: { label: string; tabs: Tab[] }) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ href, label, isHere }) => (
      <a href={href} aria-current={isHere ? "page" : undefined}>
        {label}
      </a>
    ))}
  </nav>
);

import { createHash } from "node:crypto";

/** The style sheet of the page. */
export const style = `
:root { color-scheme: light dark; --text: #1c2024; --muted: #5b6470; --line: #d9dde3; --soft: #f4f6f8; --link: #0b5cad; --back: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7eb; --muted: #a3adb8; --line: #353c45; --soft: #1e2329; --link: #7ab8ff; --back: #14181c; }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; color: var(--text); background: var(--back); font: 16px/1.55 system-ui, sans-serif; }
a { color: var(--link); text-underline-offset: 2px; }
a:focus-visible, pre:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
code, pre { font: .875em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
pre { padding: .75rem 1rem; overflow-x: auto; background: var(--soft); border: 1px solid var(--line); border-radius: 6px; user-select: all; overflow-wrap: normal; }
nav { padding: 1.5rem; border-bottom: 1px solid var(--line); font-size: .9rem; }
nav ul { margin: 0 0 1rem; padding: 0; list-style: none; }
nav a { display: block; padding: .1rem 0; color: inherit; text-decoration: none; }
nav a:hover { text-decoration: underline; }
nav p { margin: 0; font-weight: 600; }
main { max-width: 60rem; padding: 1.5rem; }
h1 { margin-top: 0; line-height: 1.2; }
h2 { margin-top: 3rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
h3 { margin: 2.5rem 0 .25rem; font-size: 1.05rem; overflow-wrap: anywhere; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
h4 { margin: 1rem 0 .25rem; font-size: .9rem; }
p { margin: .5rem 0; }
.method { display: inline-block; min-width: 3.6rem; font-weight: 700; }
.muted { color: var(--muted); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th, td { padding: .3rem .75rem .3rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
td:first-child { min-width: 9rem; }
td:nth-child(2) { min-width: 8rem; }
@media (min-width: 64rem) {
  body { display: grid; grid-template-columns: 19rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; border: 0; border-right: 1px solid var(--line); }
  main { padding: 2rem 3rem; }
}
@media print { nav { display: none; } }
`;

const styleDigest = createHash("sha256").update(style).digest("base64");

/** Content security policy: only the inline style sheet, no script, image or other source. */
export const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${styleDigest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

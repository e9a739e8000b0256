import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export const proxyPlatforms = ["cloudflare", "vercel", "netlify"] as const;

interface ProxySettings {
  platform: (typeof proxyPlatforms)[number];
  /** SITE_URL. */
  siteUrl: string;
  /** Such as https://<ref>.supabase.co/functions/v1. */
  functionsUrl: string;
  /** PROXY_SECRET of the functions. */
  secret: string;
}

type Files = Record<string, string>;

const json = (value: object) => `${JSON.stringify(value, null, 2)}\n`;

/** For platforms that build the folder: an empty site, in front of which the proxy stands. */
const site = { "package.json": json({ private: true, type: "module" }), "public/robots.txt": "" };

const platforms: Record<ProxySettings["platform"], { files(settings: ProxySettings): Files; commands: string[] }> = {
  cloudflare: {
    files: ({ siteUrl, functionsUrl }) => ({
      "wrangler.json": json({
        name: "feedback-proxy",
        main: "proxy.js",
        compatibility_date: "2026-07-01",
        // At other addresses forms would be refused.
        workers_dev: false,
        preview_urls: false,
        routes: [{ pattern: new URL(siteUrl).host, custom_domain: true }],
        vars: { FUNCTIONS_URL: functionsUrl },
      }),
    }),
    commands: ["npx wrangler deploy", "npx wrangler secret bulk secret.env"],
  },
  vercel: {
    files: ({ functionsUrl }) => ({
      ...site,
      "vercel.json": json({ framework: null, buildCommand: "", installCommand: "", outputDirectory: "public" }),
      ".vercelignore": "secret.env\n",
      "middleware.js": `import { proxy } from "./proxy.js";

export const config = { runtime: "edge" };

export default function middleware(request) {
  const settings = { FUNCTIONS_URL: ${JSON.stringify(functionsUrl)}, PROXY_SECRET: process.env.PROXY_SECRET };
  return proxy(request, settings, request.headers.get("x-real-ip"));
}
`,
    }),
    commands: [
      "npx vercel link",
      "cut -d= -f2- secret.env | npx vercel env add PROXY_SECRET production --force",
      "npx vercel deploy --prod",
    ],
  },
  netlify: {
    files: ({ functionsUrl }) => ({
      ...site,
      "netlify.toml": '[build]\npublish = "public"\n',
      "netlify/edge-functions/pages.js": `import { proxy } from "../../proxy.js";

export const config = { path: "/*" };

export default function pages(request, context) {
  const settings = { FUNCTIONS_URL: ${JSON.stringify(functionsUrl)}, PROXY_SECRET: Netlify.env.get("PROXY_SECRET") };
  return proxy(request, settings, context.ip);
}
`,
    }),
    commands: ["npx netlify link", "npx netlify env:import secret.env", "npx netlify deploy --prod"],
  },
};

/** The pages' proxy: its files by their path in a folder of its own, and the commands to run there. */
export async function proxyOf(settings: ProxySettings): Promise<{ files: Files; commands: string[] }> {
  const { files, commands } = platforms[settings.platform];
  const code = await readFile(new URL("proxy.js", import.meta.url), "utf8");
  const secret = `PROXY_SECRET=${settings.secret}\n`;
  return { files: { ...files(settings), "proxy.js": code, "secret.env": secret }, commands };
}

/** Writes files that only their owner can read. */
export async function writeFiles(files: Files, folder: string): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    // A file that was there would keep its mode.
    await rm(path, { force: true });
    await writeFile(path, text, { mode: 0o600 });
  }
}

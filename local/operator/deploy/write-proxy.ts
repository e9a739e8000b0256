import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

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

/** Writes the pages' proxy into a folder, and returns the commands to run there. Writes the same a second time. */
export async function writeProxy(settings: ProxySettings, folder: string): Promise<string[]> {
  const { files, commands } = platforms[settings.platform];
  for (const [name, text] of Object.entries(files(settings))) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  await copyFile(fileURLToPath(new URL("proxy.js", import.meta.url)), join(folder, "proxy.js"));
  const secret = join(folder, "secret.env");
  await writeFile(secret, `PROXY_SECRET=${settings.secret}\n`, { mode: 0o600 });
  // A file that was there keeps its mode.
  await chmod(secret, 0o600);
  return commands;
}

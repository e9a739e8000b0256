// A host application in one file: people sign in here, and the feedback widget knows them.
//
//   FEEDBACK_URL=http://127.0.0.1:54321 FEEDBACK_ORGANIZATION=demo FEEDBACK_SECRET=fcs_sig_… node examples/host.mjs
//
// The origin of this application must be an allowed origin of the organization (Settings, Origins).
import { randomBytes, randomUUID } from "node:crypto";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { deleteCookie, getSignedCookie, setSignedCookie } from "hono/cookie";
import { html } from "hono/html";
import { SignJWT } from "jose";

const { FEEDBACK_URL, FEEDBACK_ORGANIZATION, FEEDBACK_SECRET, PORT = "3000" } = process.env;
const service = new URL(FEEDBACK_URL).origin;

const people = {
  grace: { name: "Grace Hopper", email: "grace@host.example" },
  alan: { name: "Alan Turing", email: "alan@host.example" },
};
const cookieSecret = randomBytes(32).toString("hex");

const app = new Hono();

const idOf = async (c) => (await getSignedCookie(c, cookieSecret, "who")) || undefined;

// A strict Content-Security-Policy with the sources that the widget needs: its script and its frame.
const policy = [
  "default-src 'none'",
  `script-src 'self' ${service}`,
  `frame-src ${service}`,
  "connect-src 'self'",
  "style-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

app.get("/", async (c) => {
  const id = await idOf(c);
  c.header("Content-Security-Policy", policy);
  c.header("Cache-Control", "no-store");
  return c.html(html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Planner</title>
        <link rel="stylesheet" href="/style.css" />
        <script src="/page.js" defer data-organization="${FEEDBACK_ORGANIZATION}" data-user="${id ?? ""}"></script>
        <script src="${service}/widget.js" async></script>
      </head>
      <body>
        <h1>Planner</h1>
        ${
          id
            ? html`<p>Hello, ${people[id].name}. <a href="#" data-feedback-open="news">What's new<b id="unread"></b></a></p>
              <form method="post" action="/sign-out" id="sign-out"><button>Sign out</button></form>`
            : Object.entries(people).map(
                ([known, { name }]) =>
                  html`<form method="post" action="/sign-in"><button name="id" value="${known}">Sign in as ${name}</button></form>`,
              )
        }
        <p><button data-feedback-open="new" type="button">Tell us what is missing</button></p>
      </body>
    </html>`);
});

app.get("/page.js", (c) => c.text(script, 200, { "Content-Type": "text/javascript; charset=utf-8" }));
app.get("/style.css", (c) => c.text(style, 200, { "Content-Type": "text/css; charset=utf-8" }));

app.post("/sign-in", async (c) => {
  const { id } = await c.req.parseBody();
  if (Object.hasOwn(people, id)) await setSignedCookie(c, "who", id, cookieSecret, { httpOnly: true, sameSite: "Lax" });
  return c.redirect("/", 303);
});

app.post("/sign-out", (c) => {
  deleteCookie(c, "who");
  return c.redirect("/", 303);
});

// Vouches for the person who is signed in here, and for nobody else. The secret stays on this side.
app.get("/feedback-token", async (c) => {
  const id = await idOf(c);
  if (!id) return c.text("Nobody is signed in.", 401);
  const token = await new SignJWT({ ...people[id] })
    .setProtectedHeader({ alg: "HS256" })
    .setSubject(id)
    .setAudience(FEEDBACK_ORGANIZATION)
    .setIssuedAt()
    .setExpirationTime("5m")
    .setJti(randomUUID())
    .sign(new TextEncoder().encode(FEEDBACK_SECRET));
  return c.text(token, 200, { "Cache-Control": "no-store" });
});

const script = `
const { organization, user } = document.currentScript.dataset;
window.feedback ??= function () { (feedback.q ??= []).push(arguments); };
feedback("init", { organization });

if (user) {
  feedback("identify", {
    token: async () => {
      const answer = await fetch("/feedback-token");
      if (!answer.ok) throw new Error(await answer.text());
      return answer.text();
    },
  });
  feedback("on", "unread", (count) => {
    document.getElementById("unread").textContent = count > 0 ? " " + count : "";
  });
  // The widget's session ends first, then ours.
  document.getElementById("sign-out").addEventListener("submit", (event) => {
    event.preventDefault();
    const leave = () => event.target.submit();
    feedback("on", "logout", leave);
    feedback("logout");
    setTimeout(leave, 3000);
  });
}
`;

const style = `
:root { color-scheme: light dark; }
body { max-width: 40rem; margin: 3rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; }
`;

serve({ fetch: app.fetch, port: Number(PORT) }, ({ port }) => console.log(`http://localhost:${port}`));

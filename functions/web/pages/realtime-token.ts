import { plain } from "../page.tsx";

/**
 * The visitor's access token for private realtime topics, because scripts cannot read its HttpOnly cookie. Only pages
 * of this site can read the response. The token is null without a session, such as for a page from the browser's cache.
 */
export const realtimeToken = plain({
  method: "get",
  path: "/realtime-token",
  isData: true,
  showsSecret: true,
  call: () => [],
  respond: (_results, { visit }) => ({
    status: 200,
    json: JSON.stringify({ token: visit.session.accessToken ?? null }),
    headers: { "Content-Type": "application/json; charset=utf-8", "Cross-Origin-Resource-Policy": "same-origin" },
  }),
});

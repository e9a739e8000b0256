// An agent by the Model Context Protocol: reviews the open problem with most votes and reports on it.
//
//   FEEDBACK_URL=http://127.0.0.1:54321 FEEDBACK_AGENT_KEY=fcs_agt_… node examples/agent.mjs
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const { FEEDBACK_URL, FEEDBACK_AGENT_KEY } = process.env;
const client = new Client({ name: "triage", version: "1.0.0" });
await client.connect(
  new StreamableHTTPClientTransport(new URL("/api/mcp", FEEDBACK_URL), {
    requestInit: { headers: { Authorization: `Bearer ${FEEDBACK_AGENT_KEY}` } },
  }),
);

async function call(name, args) {
  const { structuredContent, content, isError } = await client.callTool({ name, arguments: args });
  if (isError) throw new Error(`${name}: ${content[0]?.text}`);
  return structuredContent;
}

const { submissions } = await call("list_submissions", { type: "problem", status: "open", sort: "votes", limit: 1 });
const [first] = submissions;
if (!first) {
  console.log("No problem is open.");
} else {
  await call("set_submission_status", { submission_id: first.id, status: "under_review", note: "We look into it." });
  const mood = await call("analyze_sentiment", { submission_id: first.id });
  console.log(`“${first.title}” is now under review. Votes: ${first.vote_count}. Mood: ${mood.overall}`);
}
await client.close();

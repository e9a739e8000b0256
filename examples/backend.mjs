// A backend with the client package: turns support tickets into submissions and votes of the people who wrote them.
// Each line of the standard input is a ticket: {"id", "email", "name", "subject", "text"}.
//
//   FEEDBACK_URL=http://127.0.0.1:54321 FEEDBACK_KEY=fcs_org_… node examples/backend.mjs < tickets.jsonl
import { createInterface } from "node:readline";
import { createFeedbackClient } from "@feedback-collection-service/client";

const { FEEDBACK_URL, FEEDBACK_KEY } = process.env;
const feedback = createFeedbackClient({ url: FEEDBACK_URL, token: FEEDBACK_KEY });

const must = ({ data, error }) => {
  if (error) throw error;
  return data;
};

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  const { id, email, name, subject, text } = JSON.parse(line);
  const author = { author_email: email, author_name: name };
  const { similar } = must(
    await feedback.POST("/api/submissions/check-duplicates", { body: { title: subject, limit: 1 } }),
  );
  if (similar[0]) {
    must(
      await feedback.POST("/api/submissions/{id}/vote", {
        params: { path: { id: similar[0].id } },
        // With `follow: true` the person gets mail about it: where they asked for it.
        body: author,
      }),
    );
    console.log(`${id}: a vote for “${similar[0].title}”`);
    continue;
  }
  must(
    await feedback.POST("/api/submissions", {
      // The same ticket sent twice makes one submission.
      params: { header: { "Idempotency-Key": `ticket-${id}` } },
      body: { type: "problem", title: subject, description: text, source: "support", ...author },
    }),
  );
  console.log(`${id}: a new submission`);
}

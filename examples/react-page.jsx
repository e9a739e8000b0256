// A React page with supabase-js: the most wanted ideas, live. Bundle it with esbuild, and give the page an element:
//
//   <div id="ideas" data-url="http://127.0.0.1:54321" data-key="sb_publishable_…" data-organization="…"></div>
//   <script type="module" src="react-page.js"></script>
import { createClient } from "@supabase/supabase-js";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

const element = document.getElementById("ideas");
const { url, key, organization } = element.dataset;
const supabase = createClient(url, key);

async function readIdeas() {
  const { data, error } = await supabase
    .from("submissions")
    .select("id,title,status,vote_count")
    .eq("organization_id", organization)
    .is("merged_into_id", null)
    .order("vote_count", { ascending: false })
    .order("id")
    .limit(10);
  if (error) throw error;
  return data;
}

/** The list, and after each change of the board the list as it is then. */
function useIdeas() {
  const [ideas, setIdeas] = useState([]);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let ended = false;
    const read = () =>
      readIdeas().then(
        (now) => !ended && setIdeas(now),
        (error) => !ended && setProblem(error.message),
      );
    const channel = supabase
      .channel(`organization:${organization}`, { config: { private: true } })
      .on("broadcast", { event: "*" }, read);
    // Reads when it listens, so that nothing is missed in between, and after each lost connection.
    supabase.realtime.setAuth().then(() => {
      if (!ended) channel.subscribe((status) => status === "SUBSCRIBED" && read());
    });
    return () => {
      ended = true;
      supabase.removeChannel(channel);
    };
  }, []);
  return { ideas, problem };
}

function Ideas() {
  const { ideas, problem } = useIdeas();
  if (problem) return <p role="alert">{problem}</p>;
  return (
    <ol>
      {ideas.map(({ id, title, status, vote_count }) => (
        <li key={id}>
          <b>{vote_count}</b> {title} <small>{status}</small>
        </li>
      ))}
    </ol>
  );
}

createRoot(element).render(<Ideas />);

import { publicAddress } from "../../../../_shared/http/own-addresses.ts";
import { CodeBlock } from "../../../components/admin/code-block.tsx";
import { useWords } from "../../../rendering.ts";

type ConnectProps = { secret: string | undefined };

/** Configurations of common clients, with the new key or a placeholder. */
export const Connect = ({ secret }: ConnectProps) => {
  const words = useWords("agents");
  return (
    <section class="stack" id="connect" data-turbo-temporary={secret ? "" : undefined}>
      <h2>{words.connect}</h2>
      <p class="quiet">{secret ? words.connectNow : words.connectText}</p>
      {configurations(`${publicAddress}/api/mcp`, secret ?? "YOUR_KEY").map(({ id, client, file, text }, index) => (
        <details class="client" id={`client-${id}`} open={index === 0}>
          <summary>{client}</summary>
          <CodeBlock id={`client-${id}-text`} label={file} text={text} />
        </details>
      ))}
    </section>
  );
};

function configurations(url: string, key: string): { id: string; client: string; file: string; text: string }[] {
  const headers = { Authorization: `Bearer ${key}` };
  const json = (value: object) => JSON.stringify(value, null, 2);
  return [
    {
      id: "claude-code",
      client: "Claude Code",
      file: "shell",
      text: `claude mcp add --transport http feedback ${url} --header "Authorization: Bearer ${key}"`,
    },
    {
      id: "claude-desktop",
      client: "Claude Desktop",
      file: "claude_desktop_config.json",
      text: json({
        mcpServers: {
          feedback: {
            command: "npx",
            // The client fills in the variable: a header with a space does not survive its shell on Windows.
            args: ["-y", "mcp-remote", url, "--header", `Authorization:$\{AUTHORIZATION}`],
            env: { AUTHORIZATION: headers.Authorization },
          },
        },
      }),
    },
    {
      id: "cursor",
      client: "Cursor",
      file: ".cursor/mcp.json",
      text: json({ mcpServers: { feedback: { url, headers } } }),
    },
    {
      id: "vscode",
      client: "VS Code",
      file: ".vscode/mcp.json",
      text: json({ servers: { feedback: { type: "http", url, headers } } }),
    },
    {
      id: "codex",
      client: "Codex",
      file: "~/.codex/config.toml",
      text: `[mcp_servers.feedback]\nurl = "${url}"\nhttp_headers = { Authorization = "Bearer ${key}" }`,
    },
    {
      id: "gemini",
      client: "Gemini CLI",
      file: "~/.gemini/settings.json",
      text: json({ mcpServers: { feedback: { httpUrl: url, headers } } }),
    },
  ];
}

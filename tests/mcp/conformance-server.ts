import { createMcpHandler, ProtocolError, ResourceNotFoundError, Server } from "@modelcontextprotocol/server";

// The tools, resources and prompts that the conformance suite requires by name, behind the handler of
// functions/mcp/standard.ts.

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const text = (value: string) => ({ type: "text" as const, text: value });
const image = { type: "image" as const, data: png, mimeType: "image/png" };
const embedded = (uri: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType: "text/plain", text: "Text of a resource" },
});

const tools = {
  test_simple_text: [text("Some text")],
  test_image_content: [image],
  test_audio_content: [{ type: "audio" as const, data: wav, mimeType: "audio/wav" }],
  test_embedded_resource: [embedded("test://embedded-resource")],
  test_multiple_content_types: [text("Text, image and resource"), image, embedded("test://mixed-content")],
  test_tool_with_progress: [text("Finished")],
  test_error_handling: [text("This tool fails, as it should")],
};
const isTool = (name: string): name is keyof typeof tools => Object.hasOwn(tools, name);

const prompts: Record<string, (args: Record<string, string>) => object[]> = {
  test_simple_prompt: () => [text("A simple prompt")],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [text(`Prompt with arg1='${arg1}', arg2='${arg2}'`)],
  test_prompt_with_embedded_resource: ({ resourceUri = "" }) => [embedded(resourceUri), text("Read it.")],
  test_prompt_with_image: () => [image, text("Look at it.")],
};
const argumentsOfPrompt: Record<string, string[]> = {
  test_prompt_with_arguments: ["arg1", "arg2"],
  test_prompt_with_embedded_resource: ["resourceUri"],
};

function serverOf(): Server {
  const server = new Server(
    { name: "fixtures", version: "1.0.0" },
    { capabilities: { tools: {}, resources: {}, prompts: {} } },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: Object.keys(tools).map((name) => ({
      name,
      description: name.replaceAll("_", " "),
      inputSchema: { type: "object" as const, properties: {} },
    })),
  }));
  server.setRequestHandler("tools/call", async ({ params: { name } }, { mcpReq }) => {
    if (!isTool(name)) throw new ProtocolError(-32602, "There is no such tool.");
    const progressToken = mcpReq._meta?.progressToken;
    if (name === "test_tool_with_progress" && progressToken !== undefined)
      for (const progress of [0, 50, 100])
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } });
    return { content: tools[name], isError: name === "test_error_handling" };
  });
  server.setRequestHandler("resources/list", () => ({
    resources: ["static-text", "static-binary"].map((name) => ({ uri: `test://${name}`, name })),
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "test://template/{id}/data", name: "template" }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    if (uri === "test://static-text") return { contents: [{ uri, mimeType: "text/plain", text: "Text" }] };
    if (uri === "test://static-binary") return { contents: [{ uri, mimeType: "image/png", blob: png }] };
    const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
    if (!id) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id }) }] };
  });
  server.setRequestHandler("prompts/list", () => ({
    prompts: Object.keys(prompts).map((name) => ({
      name,
      description: name.replaceAll("_", " "),
      arguments: (argumentsOfPrompt[name] ?? []).map((argument) => ({ name: argument, required: true })),
    })),
  }));
  server.setRequestHandler("prompts/get", ({ params: { name, arguments: args = {} } }) => {
    const contents = prompts[name]?.(args);
    if (!contents) throw new ProtocolError(-32602, "There is no such prompt.");
    return { messages: contents.map((content) => ({ role: "user" as const, content: content as typeof image })) };
  });
  return server;
}

const handler = createMcpHandler(serverOf);
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(`port ${port}`) }, (request) => {
  // The host of a DNS rebinding attack is not one of the server's own hosts.
  const { hostname } = new URL(`http://${request.headers.get("host")}`);
  return hostname === "127.0.0.1" || hostname === "localhost"
    ? handler.fetch(request)
    : new Response(null, { status: 403 });
});

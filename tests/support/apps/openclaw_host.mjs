// A stand-in for OpenClaw's plugin api, served over HTTP: what a real node does with the plugin, without a gateway.
// Lines of JSON in: {do: "command", args} or {do: "tool", name, params}. Lines of JSON out.

import http from "node:http";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const [entry, settings = "{}"] = process.argv.slice(1).filter((one) => !one.endsWith(".mjs"));
const plugin = (await import(pathToFileURL(entry))).default;
const tools = new Map(), commands = new Map(), routes = [], clis = [], descriptors = [], sent = [];
const say = (value) => console.log(JSON.stringify(value));
const sessions = new Map();

plugin.register({
  id: plugin.id,
  registrationMode: "full",
  pluginConfig: JSON.parse(settings),
  logger: { info: (line) => say({ log: line }), warn: (line) => say({ log: line }) },
  runtime: {
    subagent: {
      async run(params) {
        sent.push(params);
        const said = sessions.get(params.sessionKey) ?? [];
        said.push({ role: "user", content: params.message }, { role: "assistant", content: [{ type: "text", text: "On it." }, { type: "thinking" }] });
        sessions.set(params.sessionKey, said);
        return { runId: `run-${sent.length}` };
      },
      getSessionMessages: async ({ sessionKey }) => ({ messages: sessions.get(sessionKey) ?? [] }),
    },
  },
  session: { controls: { registerControlUiDescriptor: (one) => descriptors.push(one) } },
  registerTool: (tool) => tools.set(tool.name, tool),
  registerCommand: (command) => commands.set(command.name, command),
  registerCli: (registrar, options) => clis.push(options),
  registerHttpRoute: (route) => routes.push(route),
});

const server = http.createServer((request, response) => {
  const path = request.url.split("?")[0];
  const route = routes.find((one) => (one.match === "prefix" ? path === one.path || path.startsWith(`${one.path}/`) : path === one.path));
  if (route) return route.handler(request, response);
  response.writeHead(404).end();
});
server.listen(0, "127.0.0.1", () => {
  say({
    port: server.address().port,
    tools: [...tools.keys()],
    commands: [...commands.values()].map(({ name, acceptsArgs, agentPromptGuidance }) => ({ name, acceptsArgs, guidance: agentPromptGuidance })),
    routes: routes.map(({ path, auth, match }) => ({ path, auth, match })),
    clis,
    descriptors,
  });
});
for await (const line of readline.createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.do === "command") say(await commands.get("agent-app").handler({ args: asked.args }));
  else if (asked.do === "sent") say(sent);
  else {
    try {
      say({ ok: await tools.get(asked.name).execute("call-1", asked.params) });
    } catch (error) {
      say({ thrown: error.message });
    }
  }
}
process.exit(0);

// Loads the binding for dsh into the real registry of tools, with services that come late, and says what it saw.

import http from "node:http";
import vm from "node:vm";
import { readFileSync } from "node:fs";

import { Context, Service } from "@deepseek-ai/cordis";
import SystemPrompt from "@deepseek-ai/dsh-system-prompt";
import { ToolRuntime } from "@deepseek-ai/dsh-tools";

import * as plugin from "./index.js";

const seen = { exports: Object.keys(plugin).sort(), logged: [] };
const root = new Context();
await root.plugin(SystemPrompt);
await root.plugin(ToolRuntime);
const loaded = await root.plugin(plugin);
await new Promise((resolve) => setImmediate(resolve));

let calls = 0;
const call = async (name, args, signal = new AbortController().signal) => {
  const done = await root.tools.execute({ callId: `call-${++calls}`, name, arguments: args, signal });
  return { isError: done.isError, text: done.content.map((one) => one.text).join(""), value: done.value ?? null, code: done.error?.info?.code ?? null };
};
seen.schemas = root.tools.schemas();
seen.modes = Object.fromEntries(
  seen.schemas.map(({ name }) => [name, root.tools.executionMode({ callId: "x", name, arguments: { dir: ".", entity: "e", id: "i", term: "t" }, signal: new AbortController().signal }).kind]),
);
seen.missing = await call("agent_app_describe", {});
seen.wrongType = await call("agent_app_create", { dir: "made", entity: "books", fields: "none" });
seen.built = await call("agent_app_build", { dir: "made", name: "Made" });
seen.refusedByProgram = await call("agent_app_build", { dir: "made" });
seen.unreachable = await call("agent_app_describe", { dir: "made" });
const abort = new AbortController();
const waiting = call("agent_app_next_task", { dir: "made", waitMs: 60000 }, abort.signal);
abort.abort();
seen.aborted = await waiting;

// Services that appear after the plugin.
class Skills extends Service {
  providers = [];
  constructor(ctx) {
    super(ctx, "skills");
  }
  registerProvider(create) {
    this.providers.push(create({}));
    return () => this.providers.pop();
  }
}
class WebServer extends Service {
  routes = [];
  constructor(ctx) {
    super(ctx, "webServer");
  }
  register(route) {
    this.routes.push(route);
    return () => this.routes.splice(this.routes.indexOf(route), 1);
  }
}
await root.plugin(Skills);
await root.plugin(WebServer);
while (!root.skills.providers.length || !root.webServer.routes.length) await new Promise((resolve) => setImmediate(resolve));
const [provider] = root.skills.providers;
const candidates = await provider.list();
seen.skills = await Promise.all(candidates.map(async (one) => ({ ...one, content: (await provider.get(one)).content })));
seen.noSkill = (await provider.get({ ...candidates[0], locator: "../skills" })) ?? null;
const [route] = root.webServer.routes;
const server = http.createServer((request, response) => route.handler(request, response)).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const { port } = server.address();
const get = (headers = {}, method = "GET") =>
  new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port, path: route.path, method, headers }, (response) => {
      let body = "";
      response.on("data", (piece) => (body += piece)).on("end", () => resolve({ status: response.statusCode, body }));
    });
    request.on("error", reject).end();
  });
seen.route = [route.kind, route.path];
seen.page = await get();
seen.foreign = await get({ host: "evil.example" });
seen.crossSite = await get({ "sec-fetch-site": "cross-site" });
seen.posted = await get({}, "POST");
server.close();

// The browser's half, by the shape of its loader.
const registered = [];
const slots = { inject: (_slot, make) => make(), register: (options, component) => registered.push([options, component]) };
vm.runInNewContext(readFileSync("client.js", "utf8"), {
  window: {
    __ModuleLoader__: {
      load({ id, factory }) {
        seen.clientId = id;
        const half = factory((name) => ({ react: { createElement: (tag, props) => ({ tag, props }) } })[name]);
        seen.clientInject = half.inject;
        half.apply({ slots });
      },
    },
  },
});
seen.slots = registered.map(([options, component]) => ({ name: options.name, id: options.id ?? options.key, drawn: component().tag, src: component().props.src ?? null }));

await loaded.dispose();
seen.left = { tools: root.tools.schemas().length, skills: root.skills.providers.length, routes: root.webServer.routes.length };
console.log(JSON.stringify(seen));
process.exit(0);

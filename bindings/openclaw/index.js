// Agent Apps in OpenClaw: `/agent-app`, `openclaw agent-app`, the tools where the settings want them, and the manager tab.
// Everything about apps is asked of the program `inspan`; this file only fits it to the host. Node's own modules alone.

import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const TABLE = JSON.parse(readFileSync(join(HERE, "tools.json"), "utf8"));
const HARNESS = "openclaw";
const COMMAND = "agent-app";
const DESCRIPTION = "Build, change, import, operate or verify an Agent App";
const CLI = [{ name: COMMAND, description: "Build, serve and operate Agent Apps", hasSubcommands: true }];
const PAGE_PATH = "/agent-app/home";
const API_PATH = "/agent-app/api";
const LONGEST_OUTPUT_BYTES = 16 * 1024 * 1024;
const LONGEST_BODY_BYTES = 1024 * 1024;
const TOKEN_MS = 24 * 60 * 60 * 1000;
const MOST_TOKENS = 200;
const BUILD_MS = 2 * 60 * 60 * 1000;
const QUICK_MS = 20_000;
// What may be done from the tab, each more than the one before. The host's routes tell nobody's scopes, so the operator says
// it for all who may open the tab; what the setting does not name is none of them.
const TAB = {
  look: ["GET /apps"],
  apps: ["POST /app/serve", "POST /app/stop", "POST /app/remove"],
  all: ["GET /session", "POST /session/send", "POST /build"],
};
const LEVELS = Object.keys(TAB);
const SETTING = "plugins.entries.agent-apps.config.tab";
const USAGE = "Say what you want: /agent-app make a reading list, or /agent-app what is overdue on my board?";
const GUIDANCE =
  "A message that begins with /agent-app is a request about Agent Apps. Choose the skill for it (creator, modify, importer, " +
  "operator, walk-verify or connect), read it and follow it; do not build or operate from general knowledge, and never drive " +
  "an app's page. `agent-app list` finds apps; `agent-app skills --path` prints where the skills are. If two could be meant, ask.";

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Asks `inspan`: its exit status and what it printed. */
function asker(api) {
  const program = () => String(api.pluginConfig?.inspan || process.env.INSPAN_CLI || "").trim() || "inspan";
  const start = (words, options) => spawn(program(), ["app", ...words], options);
  const run = (words, { input = "", signal } = {}) =>
    new Promise((done, failed) => {
      const child = start(words, { stdio: ["pipe", "pipe", "pipe"], signal });
      const pieces = { stdout: [], stderr: [] };
      let size = 0;
      for (const name of ["stdout", "stderr"]) {
        child[name].on("data", (piece) => {
          size += piece.length;
          if (size <= LONGEST_OUTPUT_BYTES) pieces[name].push(piece);
        });
      }
      child.on("error", (error) =>
        failed(
          error.name === "AbortError"
            ? error
            : new Error(`inspan could not be started (${error.code}). Install it, or name it in the plugin's settings.`),
        ),
      );
      const text = (name) => Buffer.concat(pieces[name]).toString("utf8");
      child.on("close", (code) => done({ code, stdout: text("stdout"), stderr: text("stderr") }));
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    });
  const ask = async (words, options) => {
    const { stdout } = await run(words, options);
    try {
      return JSON.parse(stdout);
    } catch {
      throw new Error("inspan gave no answer that can be read.");
    }
  };
  return {
    run,
    call: (tool, args, signal) => ask(["call", tool], { input: JSON.stringify(args ?? {}), signal }),
    kickoff: (asked) => ask(["kickoff"], { input: JSON.stringify(asked) }),
    line: (words) => run(["line", words.map(quoted).join(" ")]),
    apps: async () => (await ask(["line", "list --json"])).apps ?? [],
    profile: () => ask(["profile", HARNESS, "--json"], { signal: AbortSignal.timeout(QUICK_MS) }),
    inTerminal: (words) =>
      new Promise((done) => {
        const child = start(["line", words.map(quoted).join(" ")], { stdio: "inherit" });
        child.on("error", (error) => {
          console.error(`inspan could not be started (${error.code}).`);
          done(127);
        });
        child.on("close", (code) => done(code ?? 1));
      }),
  };
}

const quoted = (word) => `'${String(word).replaceAll("'", `'"'"'`)}'`;

/** A tool of the table as the host takes it. A refusal of the app is data; only what could not be run is thrown. */
const toolFor = (inspan, tool) => ({
  name: tool.name,
  label: tool.name,
  description: tool.description,
  parameters: tool.parameters,
  async execute(_callId, params, signal) {
    const { text, isError, code, json } = await inspan.call(tool.name, params, signal);
    if (isError) throw new Error(text);
    return { content: [{ type: "text", text }], details: { code, json } };
  },
});

function registerTools(api, inspan) {
  const wanted = new Set(TABLE.subsets[api.pluginConfig?.tools] ?? []);
  for (const tool of TABLE.tools) if (wanted.has(tool.name)) api.registerTool(toolFor(inspan, tool));
}

function registerCommands(api) {
  api.registerCommand({
    name: COMMAND,
    description: DESCRIPTION,
    acceptsArgs: true,
    agentPromptGuidance: [GUIDANCE],
    handler: (context) => (context.args?.trim() ? { continueAgent: true } : { text: USAGE }),
  });
}

function registerCli(api, inspan) {
  api.registerCli(
    ({ program }) => {
      program
        .command(COMMAND)
        .description(CLI[0].description)
        .helpOption(false)
        .allowUnknownOption()
        .allowExcessArguments()
        .passThroughOptions()
        .argument("[words...]")
        .action(async (_words, _options, command) => {
          process.exitCode = await inspan.inTerminal(command.args.length ? command.args : ["list"]);
        });
    },
    { descriptors: CLI },
  );
}

/** The tokens that the page was given, each for a day. */
function tokenBox(now = Date.now) {
  const until = new Map();
  return {
    make() {
      for (const [token, end] of until) if (end <= now() || until.size >= MOST_TOKENS) until.delete(token);
      const token = randomBytes(24).toString("hex");
      until.set(token, now() + TOKEN_MS);
      return token;
    },
    isGood: (token) => typeof token === "string" && (until.get(token) ?? 0) > now(),
  };
}

const slugOf = (name) => name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
const appsFolder = () => resolve((process.env.A2APP_HOME ?? "").trim() || join(homedir(), ".a2app"), "apps");
const sessionOf = (folder) => `subagent:agent-app:${basename(folder)}`;

function textOf(message) {
  if (typeof message?.content === "string") return message.content;
  const parts = Array.isArray(message?.content) ? message.content : [];
  return parts.map((part) => (part?.type === "text" ? part.text : "")).join("");
}

/** What the page asks for, by method and path below the API. */
function managerRoutes(api, inspan) {
  const builds = new Map();
  // An agent's run is the plugin's own background work, and outlives the request that asked for it: the request's token says
  // that somebody signed in to the host opened the page, and its route has no scopes that a run could borrow.
  const inBackground = AsyncLocalStorage.snapshot();
  const known = async (path) => {
    const app = (await inspan.apps()).find((one) => typeof path === "string" && one.path === path);
    if (app) return app;
    throw new Refused(404, "There is no app of that path in the registry.");
  };
  const say = async (folder, message, cwd) => {
    if (!api.runtime?.subagent?.run) throw new Refused(501, "This OpenClaw cannot run an agent for a plugin.");
    const asked = { sessionKey: sessionOf(folder), message, deliver: false, ...(cwd ? { cwd } : {}) };
    const { runId } = await inBackground(() => api.runtime.subagent.run(asked));
    return { ok: true, runId, sessionKey: sessionOf(folder) };
  };
  const act = async (path, words) => {
    const app = await known(path);
    const { code, stdout, stderr } = await inspan.line([app.path, ...words]);
    if (code !== 0) throw new Refused(409, (stderr || stdout).trim());
    return { ok: true, said: stdout.trim() };
  };
  return {
    "GET /apps": async () => {
      const apps = await inspan.apps();
      for (const [folder, build] of builds) {
        if (Date.now() - build.at > BUILD_MS || apps.some((app) => app.path === folder)) builds.delete(folder);
      }
      const shown = apps.map(({ id, name, path, status, url }) => ({ id, name, path, status, url: url ?? null }));
      return { apps: shown, builds: [...builds].map(([path, { name }]) => ({ path, name })) };
    },
    "GET /session": async (_body, query) => {
      const folder = query.get("app") ?? "";
      if (!builds.has(folder)) await known(folder);
      const read = api.runtime?.subagent?.getSessionMessages;
      const asked = { sessionKey: sessionOf(folder), limit: 100 };
      const found = read ? await inBackground(() => api.runtime.subagent.getSessionMessages(asked)) : {};
      const messages = (found.messages ?? [])
        .map((one) => ({ role: String(one?.role ?? ""), text: textOf(one) }))
        .filter((one) => one.text && ["user", "assistant"].includes(one.role));
      return { sessionKey: sessionOf(folder), messages };
    },
    "POST /build": async ({ name, requirement, blueprint }) => {
      const slug = slugOf(typeof name === "string" ? name : "");
      if (!slug) throw new Refused(400, "A new app needs a name with letters or digits.");
      const folder = join(appsFolder(), slug);
      if (builds.has(folder) || existsSync(folder)) throw new Refused(409, `${folder} is there already: choose another name.`);
      const start = await inspan.kickoff({ action: "build", name, dir: folder, requirement, blueprint });
      if (start.kind !== "kickoff") throw new Refused(400, start.message ?? "The request cannot be used.");
      builds.set(folder, { name, at: Date.now() });
      try {
        return { ...(await say(folder, start.prompt)), path: folder };
      } catch (error) {
        builds.delete(folder);
        throw error;
      }
    },
    "POST /session/send": async ({ app, message }) => {
      if (typeof message !== "string" || !message.trim()) throw new Refused(400, "The message is empty.");
      const isBuilt = builds.has(app);
      const folder = isBuilt ? app : (await known(app)).path;
      return say(folder, message, isBuilt ? undefined : folder);
    },
    "POST /app/serve": ({ app }) => act(app, ["serve"]),
    "POST /app/stop": ({ app }) => act(app, ["stop"]),
    "POST /app/remove": async ({ app }) => {
      const found = await known(app);
      if (found.status === "running") await act(app, ["stop"]);
      return act(app, ["remove", "--yes"]);
    },
  };
}

/** How far the setting lets the tab go: without one, as far as the apps and no further. */
function tabLevel(api) {
  const wanted = api.pluginConfig?.tab ?? "apps";
  return LEVELS.includes(wanted) ? wanted : "look";
}

function checkLevel(api, route) {
  const needed = LEVELS.find((level) => TAB[level].includes(route)) ?? "all";
  if (LEVELS.indexOf(needed) <= LEVELS.indexOf(tabLevel(api))) return;
  throw new Refused(403, `This is not done from here: it takes \`openclaw config set ${SETTING} ${needed}\`.`);
}

async function readBody(request) {
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > LONGEST_BODY_BYTES) throw new Refused(413, "The body is longer than 1 MiB.");
    pieces.push(piece);
  }
  try {
    const body = JSON.parse(Buffer.concat(pieces).toString("utf8") || "{}");
    if (body && typeof body === "object" && !Array.isArray(body)) return body;
  } catch {
    // told below
  }
  throw new Refused(400, "The body is no JSON object.");
}

function registerManager(api, inspan) {
  const tokens = tokenBox();
  const routes = managerRoutes(api, inspan);
  api.registerHttpRoute({
    path: PAGE_PATH,
    auth: "gateway",
    match: "exact",
    handler(_request, response) {
      const nonce = randomBytes(16).toString("base64");
      const values = { TOKEN: tokens.make(), API: API_PATH, NONCE: nonce, LEVEL: tabLevel(api) };
      const page = readFileSync(join(HERE, "manager.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_all, key) => values[key]);
      response.writeHead(200, {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "content-security-policy":
          `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src *; ` +
          "frame-src http://127.0.0.1:*; base-uri 'none'; form-action 'none'",
      });
      response.end(page);
      return true;
    },
  });
  api.registerHttpRoute({
    path: API_PATH,
    auth: "plugin",
    match: "prefix",
    async handler(request, response) {
      const send = (status, value) => {
        const headers = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", ...CROSS_ORIGIN };
        response.writeHead(status, status === 413 ? { ...headers, connection: "close" } : headers);
        response.end(value === undefined ? "" : JSON.stringify(value));
      };
      try {
        if (request.method === "OPTIONS") return send(204), true;
        if (!tokens.isGood(request.headers["x-a2app-token"])) throw new Refused(401, "Open the Agent Apps tab anew.");
        const url = new URL(request.url, "http://127.0.0.1");
        const name = `${request.method} ${url.pathname.slice(API_PATH.length)}`;
        if (!Object.hasOwn(routes, name)) throw new Refused(404, "There is no such place.");
        checkLevel(api, name);
        send(200, await routes[name](request.method === "POST" ? await readBody(request) : {}, url.searchParams));
      } catch (error) {
        send(error instanceof Refused ? error.status : 502, { error: error.message });
      }
      return true;
    },
  });
  api.session?.controls?.registerControlUiDescriptor?.({
    surface: "tab",
    id: "agent-apps",
    label: "Agent Apps",
    description: "Apps that you and the agent share",
    icon: "apps",
    path: PAGE_PATH,
    requiredScopes: ["operator.write"],
  });
}

// The page has no origin of its own in the host's sandbox, so the token alone says who asks.
const CROSS_ORIGIN = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "content-type, x-a2app-token",
  "access-control-allow-methods": "GET, POST, OPTIONS",
};

async function registerProfile(api, inspan) {
  try {
    const { status, file, error } = await inspan.profile();
    api.logger?.info?.(error ? `bridge profile: none. ${error.message}` : `bridge profile: ${status} (${file})`);
  } catch (error) {
    api.logger?.warn?.(`bridge profile: not registered (${error.name})`);
  }
}

export default {
  id: "agent-apps",
  name: "Agent Apps",
  description: "Build and operate apps that a person and an agent share.",
  register(api) {
    const inspan = asker(api);
    const mode = api.registrationMode ?? "full";
    if (["cli-metadata", "discovery", "full"].includes(mode)) registerCli(api, inspan);
    if (mode === "cli-metadata") return;
    if (["tool-discovery", "discovery", "full"].includes(mode)) registerTools(api, inspan);
    if (!["discovery", "full"].includes(mode)) return;
    registerCommands(api);
    registerManager(api, inspan);
    if (mode === "full") void registerProfile(api, inspan);
  },
};

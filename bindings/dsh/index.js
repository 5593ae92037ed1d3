// Agent Apps in dsh: the tools by `defineTool`, the skills and the apps' page where the profile has such services.
// Named exports alone: a default export would hide `inject` from the loader.

import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { defineTool } from "@deepseek-ai/dsh-tools";

const HERE = dirname(fileURLToPath(import.meta.url));
const TABLE = JSON.parse(readFileSync(join(HERE, "tools.json"), "utf8"));
const SKILLS = join(HERE, "skills");
const HARNESS = "dsh";
const LONGEST_BYTES = 16 * 1024 * 1024;
const QUICK_MS = 20_000;

export const name = "agent-apps";
export const inject = ["tools"];

const program = () => (process.env.INSPAN_CLI ?? "").trim() || "inspan";

/** Runs `inspan` and gives its exit status and what it printed; ends it when the signal says so. */
export function runInspan(words, { input = "", signal } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program(), words, { stdio: ["pipe", "pipe", "ignore"], signal });
    const out = [];
    let size = 0;
    child.stdout.on("data", (piece) => {
      size += piece.length;
      if (size <= LONGEST_BYTES) out.push(piece);
    });
    child.on("error", (error) =>
      reject(
        error.code === "ENOENT" || error.code === "EACCES"
          ? new Error(`inspan could not be started (${error.code}). Install it, or set INSPAN_CLI.`)
          : error,
      ),
    );
    child.on("close", (code) => resolve({ code, stdout: Buffer.concat(out).toString("utf8") }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/** One tool's answer: `{text, code, json}`. A refusal of the app is data; only what could not be run is thrown. */
export async function callTool(tool, args, signal) {
  const { stdout } = await runInspan(["app", "call", tool], { input: JSON.stringify(args ?? {}), signal });
  let answer;
  try {
    answer = JSON.parse(stdout);
  } catch {
    throw new Error("inspan gave no answer that can be read.");
  }
  const { text, isError, code, json } = answer;
  if (isError) throw new Error(text);
  return { text, code, json: json ?? null };
}

/** A JSON Schema of the table as the map of parameters that dsh takes. */
export function parametersOf(schema) {
  const required = new Set(schema.required);
  const entries = Object.entries(schema.properties).map(([key, shape]) => [
    key,
    {
      type: shape.type,
      description: shape.description,
      // dsh refuses an object that does not say this, and the whole plugin with it.
      ...(shape.type === "object" ? { additionalProperties: true } : {}),
      ...(required.has(key) ? { required: true } : {}),
    },
  ]);
  return Object.fromEntries(entries);
}

const OUTPUT = {
  type: "object",
  properties: {
    text: { type: "string", required: true },
    code: { type: "integer", required: true },
    json: { type: "json" },
  },
  additionalProperties: false,
};

export function toolsOf(table = TABLE) {
  return table.tools.map((tool) =>
    defineTool({
      name: tool.name,
      description: tool.description,
      parameters: parametersOf(tool.parameters),
      output: { schema: OUTPUT, render: (_args, value) => [{ type: "text", text: value.text }] },
      isConcurrencySafe: () => tool.isReadOnly,
      execute: (args, exec) => callTool(tool.name, args, exec.signal),
    }),
  );
}

/** Lets bridges take work to this harness; what became of it, in a sentence. */
export async function registerProfile() {
  try {
    const { stdout } = await runInspan(["app", "profile", HARNESS, "--json"], { signal: AbortSignal.timeout(QUICK_MS) });
    const { status, file, error } = JSON.parse(stdout);
    return error ? `bridge profile: none. ${error.message}` : `bridge profile: ${status} (${file})`;
  } catch (error) {
    return `bridge profile: not registered (${error.name})`;
  }
}

/** A skill's file as its fields and its text without them. */
function readSkill(folder) {
  const path = join(SKILLS, folder, "SKILL.md");
  const [, head, ...body] = readFileSync(path, "utf8").split(/^---\n/m);
  const fields = Object.fromEntries(head.trim().split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
  return { path, description: fields.description, content: body.join("---\n").trimStart() };
}

/** The skills as a provider of dsh's registry. */
export function skillProvider() {
  const describe = (folder) => {
    const { path, description } = readSkill(folder);
    return {
      path,
      name: folder,
      description,
      invocation: { modelInvocable: true, userInvocable: true },
      source: "bundled",
      provider: name,
      resourceBase: { kind: "directory", path: dirname(path) },
      rank: 600,
      locator: folder,
    };
  };
  const folders = () =>
    readdirSync(SKILLS, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return {
    name,
    list: async () => folders().map(describe),
    async get(candidate) {
      if (!folders().includes(candidate.locator)) return undefined;
      return { ...describe(candidate.locator), content: readSkill(candidate.locator).content };
    },
  };
}

const offerSkills = (scoped) => scoped.effect(() => scoped.skills.registerProvider(() => skillProvider()));

const escape = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);

/** The page with the apps: those that run with a link and a view of each, drawn anew at each look. */
export async function renderApps() {
  const { stdout } = await runInspan(["app", "line", "list --json"]);
  const rows = (JSON.parse(stdout).apps ?? []).map((app) => {
    const isRunning = app.status === "running" && /^http:\/\/127\.0\.0\.1:\d+\/?$/.test(app.url ?? "");
    const label = escape(app.name);
    if (!isRunning) return `<li>${label} <small>${escape(app.status)}</small></li>`;
    const url = escape(app.url);
    return `<li><details><summary>${label} <a href="${url}" target="_blank" rel="noopener">open</a></summary>
<iframe src="${url}" title="${label}" loading="lazy" sandbox="allow-scripts allow-forms allow-same-origin"></iframe></details></li>`;
  });
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Agent Apps</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem}ul{list-style:none;padding:0}li{margin:.5rem 0}
iframe{border:1px solid #8886;width:100%;height:70vh}:root{color-scheme:light dark}</style>
<h1>Agent Apps</h1><ul>${rows.join("") || "<li>No apps yet: ask the agent to build one.</li>"}</ul></html>`;
}

/** Whether a request comes from a page of this server on this machine: the host's own check, else by its headers. */
function refusal(scoped, request) {
  const connection = scoped.get?.("connection");
  if (typeof connection?.requestRejection === "function") return connection.requestRejection(request);
  const host = request.headers.host ?? "";
  const isHere = /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?$/.test(host);
  const site = request.headers["sec-fetch-site"] ?? "none";
  return isHere && ["none", "same-origin"].includes(site) ? undefined : 403;
}

async function answer(scoped, request, response) {
  const send = (status, text, type = "text/plain") => {
    response.writeHead(status, { "content-type": `${type}; charset=utf-8`, "cache-control": "no-store" });
    response.end(text);
  };
  const refused = refusal(scoped, request);
  if (refused !== undefined) return send(Number.isInteger(refused) ? refused : 403, "Refused.");
  if (request.method !== "GET") return send(405, "Only GET.");
  try {
    send(200, await renderApps(), "text/html");
  } catch {
    send(502, "The apps cannot be listed: see that inspan is installed, or set INSPAN_CLI.");
  }
}

const offerPage = (scoped) =>
  scoped.effect(() =>
    scoped.webServer.register({
      kind: "exact",
      path: "/agent-apps",
      handler: (request, response) => answer(scoped, request, response),
    }),
  );

export function apply(ctx) {
  for (const tool of toolsOf()) ctx.tools.register(tool);
  // Late and optional: a profile without these services has the tools all the same.
  ctx.inject(["skills"], offerSkills);
  ctx.inject(["webServer"], offerPage);
  registerProfile().then((said) => ctx.logger?.info?.(said) ?? console.error(said));
}

// Agent Apps in dsh: the tools by `defineTool`, the skills and the apps' page where the profile has such services.
// Named exports alone: a default export would hide `inject` from the loader.

import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { defineTool } from "@deepseek-ai/dsh-tools";

const HERE = dirname(fileURLToPath(import.meta.url));
const TABLE = JSON.parse(readFileSync(join(HERE, "tools.json"), "utf8"));
const LONGEST_BYTES = 16 * 1024 * 1024;

export const name = "agent-apps";
export const inject = ["tools"];

const program = () => (process.env.INSPAN_CLI ?? "").trim() || "inspan";

/** Runs `inspan` and gives what it printed; ends it when the signal says so. */
export function runInspan(words, { input = "", signal } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program(), words, { stdio: ["pipe", "pipe", "pipe"], signal });
    const out = [];
    let size = 0;
    child.stdout.on("data", (piece) => {
      size += piece.length;
      if (size <= LONGEST_BYTES) out.push(piece);
    });
    child.stderr.resume();
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout: Buffer.concat(out).toString("utf8") }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

/** One tool's answer: `{text, isError, code, json}`. A refusal is data. */
export async function callTool(tool, args, signal) {
  const { stdout } = await runInspan(["app", "call", tool], { input: JSON.stringify(args ?? {}), signal });
  return JSON.parse(stdout);
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
    text: { type: "string" },
    isError: { type: "boolean" },
    code: { type: "number" },
    json: {},
  },
  required: ["text", "isError", "code"],
  additionalProperties: true,
};

export function toolsOf(table = TABLE) {
  return table.tools.map((tool) =>
    defineTool({
      name: tool.name,
      description: tool.description,
      parameters: parametersOf(tool.parameters),
      output: { schema: OUTPUT, render: (_args, value) => [{ type: "text", text: value.text }] },
      isConcurrencySafe: () => tool.isReadOnly,
      execute: (args, exec) => callTool(tool.name, args, exec?.signal),
    }),
  );
}

/** Says a frontmatter's field, or nothing. */
const field = (text, key) => new RegExp(`^${key}: (.*)$`, "m").exec(text.split("---")[1] ?? "")?.[1] ?? "";

async function readSkills() {
  const { code, stdout } = await runInspan(["app", "line", "skills --path"]);
  if (code !== 0) return [];
  const root = stdout.trim();
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, entry.name, "SKILL.md")))
    .map((entry) => {
      const path = join(root, entry.name, "SKILL.md");
      const text = readFileSync(path, "utf8");
      return { name: entry.name, description: field(text, "description"), path, folder: dirname(path), text };
    });
}

function offerSkills(scoped) {
  const provider = () => ({
    name,
    async list() {
      return (await readSkills()).map((skill) => ({
        path: skill.path,
        name: skill.name,
        description: skill.description,
        invocation: { modelInvocable: true, userInvocable: true },
        source: "bundled",
        provider: name,
        resourceBase: { kind: "directory", path: skill.folder },
        rank: 600,
        locator: skill.path,
      }));
    },
    async get(candidate) {
      const skill = (await readSkills()).find((one) => one.path === candidate.path);
      if (!skill) return undefined;
      return { ...candidate, content: skill.text.split(/^---$/m).slice(2).join("---").trimStart() };
    },
  });
  scoped.effect(() => scoped.skills.registerProvider(provider));
}

/** The page with the apps: a list with their addresses, drawn anew at each look. */
export async function renderApps() {
  const { stdout } = await runInspan(["app", "line", "list --json"]);
  const apps = JSON.parse(stdout).apps ?? [];
  const escape = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);
  const rows = apps.map((app) => {
    const running = app.status === "running" && /^http:\/\/127\.0\.0\.1:\d+\/?$/.test(app.url ?? "");
    const label = escape(app.name);
    return `<li>${running ? `<a href="${escape(app.url)}" target="_blank" rel="noopener">${label}</a>` : label} <small>${escape(app.status)}</small></li>`;
  });
  return `<!doctype html><meta charset="utf-8"><title>Agent Apps</title><h1>Agent Apps</h1><ul>${rows.join("") || "<li>No apps yet.</li>"}</ul>`;
}

function offerPage(scoped) {
  const route = scoped.webServer?.route ?? scoped.webServer?.register;
  if (typeof route !== "function") return;
  scoped.effect(() => route.call(scoped.webServer, { path: "/agent-apps", handler: renderApps }));
}

export function apply(ctx) {
  for (const tool of toolsOf()) ctx.tools.register(tool);
  // Late and optional: a profile without these services has the tools all the same.
  ctx.inject?.(["skills"], offerSkills);
  ctx.inject?.(["webServer"], offerPage);
}

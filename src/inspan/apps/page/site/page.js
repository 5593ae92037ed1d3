// The page: where one is, what is shown there, and that it stays as it is in the app.

import { h, note, openDialog, show, spoken } from "./dom.js";
import * as api from "./api.js";
import { forgetLabels } from "./values.js";
import { listView } from "./lists.js";
import { newView, recordView } from "./records.js";
import { tasksView } from "./tasks.js";

const main = document.getElementById("main");
const places = document.getElementById("places");
const state = document.getElementById("state");
const POLL_MS = 1000;

/** What the app declares, read as it is needed and forgotten when it changes. */
class Model {
  modules = [];
  #entities = new Map();
  #entityModule = new Map();

  async load() {
    const root = await api.describe();
    if (!root.ok) throw new Error(root.value.message);
    const levels = await Promise.all(root.value.modules.map((one) => api.describe(`/${one.name}`)));
    this.modules = levels.map((one, number) => ({ ...root.value.modules[number], ...one.value }));
    this.#entities = new Map();
    this.#entityModule.clear();
    for (const module of this.modules) for (const entity of module.entities ?? []) this.#entityModule.set(entity.name, { module, entity });
    return root.value.app;
  }

  has(name) { return this.#entityModule.has(name); }
  module(name) { return this.#entityModule.get(name)?.module; }

  /** One entity with its fields and operations. */
  async entity(name) {
    const entities = this.#entities;
    if (!entities.has(name)) {
      const { module, entity } = this.#entityModule.get(name);
      const answer = await api.describe(`/${module.path}/${name}`);
      if (!answer.ok) throw new Error(answer.value.message);
      // What was asked for before the app changed is not kept as what it declares now.
      entities.set(name, { ...answer.value, name, module: module.path, summary: entity.summary ?? "" });
    }
    return entities.get(name);
  }
}

const model = new Model();
let view = null;
let visit = null;
let known = { schema: null, data: null, app: null };

async function boot() {
  try {
    const { value } = await api.identity();
    known = { schema: value.schemaVersion, data: value.dataVersion, app: value.appVersion ?? null };
    const app = await model.load();
    document.getElementById("home").textContent = app.name;
    document.title = app.name;
    setState("live", "Live");
    drawPlaces();
    await go();
  } catch {
    setState("lost", "No answer");
    show(main, h("p", { class: "problem" }, "The app does not answer. This page tries again by itself."));
    known.schema = null;
  }
  poll();
}

function drawPlaces() {
  const here = location.hash;
  const entry = (href, text) => h("li", {}, h("a", { href, "aria-current": here === href || here.startsWith(`${href}/`) ? "page" : undefined }, text));
  show(places,
    model.modules.map((module) => [
      h("h2", {}, spoken(module.name)),
      h("ul", {}, (module.entities ?? []).map((one) => entry(`#/${one.name}`, spoken(one.name)))),
    ]).flat(),
    h("h2", {}, "Agents"), h("ul", {}, entry("#/-/tasks", "Work for agents")));
}

/**
 * Shows what the address names, and says whether it is still what is to be seen. A view that was left goes on for as
 * long as its answers take: whatever it then wants to show, or where it wants to lead, comes to nothing.
 */
async function go() {
  const mine = (visit = {});
  const isHere = () => visit === mine;
  const [entity, id] = location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
  const first = model.modules.flatMap((one) => one.entities ?? [])[0]?.name;
  const context = {
    model,
    put: (...children) => isHere() && (show(main, ...children), true),
    go: (hash) => { if (isHere()) location.hash = hash; },
    anew: go,
    isHere,
  };
  try {
    if (entity === "-" || (!entity && !first)) view = tasksView(context);
    else if (!entity) return void location.replace(`#/${first}`);
    else if (!model.has(entity)) view = nothing(context, `There is no place called ${entity}.`);
    else if (id === "+") view = newView(context, entity);
    else view = id ? recordView(context, entity, id) : listView(context, entity);
    await view.draw();
    if (!isHere()) return false;
    document.title = [view.title?.(), document.getElementById("home").textContent].filter(Boolean).join(" · ");
    const isEntity = model.has(entity);
    api.tellContext(isEntity ? entity : null, isEntity && id && id !== "+" ? [{ entity, id }] : []);
  } catch (error) {
    context.put(h("p", { class: "problem", role: "alert" }, error.message || "This cannot be shown."));
    // It is tried again with each look at the app, until it is shown or left.
    if (isHere()) view = { refresh: go, isAlwaysFresh: true };
  }
  if (isHere()) drawPlaces();
  return isHere();
}

const nothing = ({ put }, text) => ({ draw: () => put(h("p", { class: "empty" }, text)) });

function setState(is, text) {
  if (state.dataset.is === is) return;
  state.dataset.is = is;
  state.textContent = text;
}

/** Asks again and again whether something changed; while nobody looks, not at all. */
async function poll() {
  if (!document.hidden) {
    try {
      const { ok, value } = await api.identity();
      if (!ok) throw new Error("no identity");
      await follow(value);
      setState("live", "Live");
    } catch {
      setState("lost", "No answer");
    }
  }
  setTimeout(poll, POLL_MS);
}

async function follow(value) {
  const version = value.appVersion ?? null;
  if (known.schema !== null && version !== known.app) offerReload();
  // What is known counts once it is shown: what failed on the way is tried again.
  if (value.schemaVersion !== known.schema) {
    document.getElementById("home").textContent = (await model.load()).name;
    forgetLabels();
    drawPlaces();
    // A form that is open goes on; everything else is shown as the app is now.
    if (!(await view?.meetChange?.())) await go();
    known = { schema: value.schemaVersion, data: value.dataVersion, app: version };
  } else if (value.dataVersion !== known.data) {
    forgetLabels();
    await view?.refresh?.();
    known.data = value.dataVersion;
  } else if (view?.isAlwaysFresh) await view.refresh();
  known.app = version;
}

function offerReload() {
  if (document.getElementById("reload")) return;
  const said = h("div", { class: "notice", id: "reload" }, "The app was changed.", h("button", { type: "button", onclick: () => location.reload() }, "Load it anew"));
  main.before(said);
}

const KEYS = [["n", "a new record"], ["/", "search"], ["e", "edit"], ["Esc", "back to the list"], ["?", "these keys"]];

function showKeys() {
  openDialog("Keys", h("div", {}, h("dl", {}, KEYS.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
    h("form", { method: "dialog", class: "actions" }, h("button", { class: "main" }, "Close"))));
}

document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox";
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape" && (!isTyping || event.target.type === "search")) {
    if (view?.back?.()) event.preventDefault();
    return;
  }
  if (isTyping) return;
  if (event.key === "?") { event.preventDefault(); showKeys(); return; }
  const button = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!button) return;
  event.preventDefault();
  if (button.tagName === "INPUT") button.focus();
  else button.click();
});

const menu = document.getElementById("menu");
menu.addEventListener("click", () => menu.setAttribute("aria-expanded", String(places.classList.toggle("open"))));
window.addEventListener("hashchange", async () => {
  places.classList.remove("open");
  menu.setAttribute("aria-expanded", "false");
  if (!(await go())) return;
  if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
});
window.addEventListener("pagehide", () => api.sayGoodbye());
window.addEventListener("unhandledrejection", (event) => note(event.reason?.message ?? "Something did not work.", true));
boot();

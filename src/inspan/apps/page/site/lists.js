// The records of an entity: as a table, or as columns where a field divides them.

import { h, note, show, spoken } from "./dom.js";
import * as api from "./api.js";
import { labelOf, labelsFor, shown } from "./values.js";
import { runOperation } from "./forms.js";

const PAGE = 100;
const MOST_COLUMNS = 6;
const settings = new Map();

/** The list of one entity. */
export function listView({ model, put, go, isHere }, name) {
  const set = settings.get(name) ?? { search: "", sort: "", count: PAGE, layout: null };
  settings.set(name, set);
  let entity = null;
  let seen = null;
  const body = h("div", {});
  const count = h("span", { class: "count", role: "status" });

  async function draw() {
    entity = await model.entity(name);
    const divider = divides(entity);
    // What was chosen here before may be about a field that the app has no more.
    if (!["id", ...Object.keys(entity.fields)].includes(set.sort.replace(/^-/, ""))) set.sort = "";
    set.layout = !divider ? "table" : set.layout ?? (divider[1].type === "ref" ? "columns" : "table");
    const search = entity.label && h("input", {
      type: "search", id: "search", placeholder: `Search ${spoken(name).toLowerCase()}`, "aria-label": "Search", "data-key": "/", value: set.search,
      oninput: (event) => { set.search = event.target.value; set.count = PAGE; fill(); },
    });
    const switcher = divider && h("div", { class: "switch", role: "group", "aria-label": "Layout" },
      ["table", "columns"].map((one) => h("button", { type: "button", id: `layout-${one}`, "aria-pressed": String(set.layout === one), onclick: () => { set.layout = one; draw(); } }, spoken(one))));
    const acts = (model.module(name).operations ?? []).map((one) =>
      h("button", { type: "button", id: `act-${one.name}`, class: one.destructive ? "danger" : "", title: one.summary ?? "", onclick: () => act(one) }, spoken(one.name)));
    put(
      h("div", { class: "head" }, h("h1", {}, spoken(name)), h("div", { class: "actions" }, acts,
        h("button", { type: "button", id: "new", class: "main", "data-key": "n", onclick: () => go(`#/${name}/+`) }, "New")),
        entity.summary && h("p", { class: "about" }, entity.summary)),
      h("div", { class: "tools" }, search, switcher, count), body);
    await fill();
  }

  async function act(row) {
    const answer = await api.describe(`/${model.module(name).path}/${row.name}`);
    if (!isHere()) return;
    if (answer.ok) await runOperation(model, answer.value, { isHere, done: fill });
    else note(answer.value.message, true);
  }

  let latest = 0;
  async function fill() {
    const mine = ++latest;
    const isColumns = set.layout === "columns";
    const [page, known] = await Promise.all([
      api.list(name, { search: set.search, label: entity.label, sort: set.sort, perPage: isColumns ? 1000 : set.count }),
      labelsFor(model, entity.fields),
    ]);
    if (mine !== latest) return;
    count.textContent = page.totalItems === 1 ? "1 record" : `${page.totalItems} records`;
    const fresh = new Set(seen === null ? [] : page.items.filter((one) => seen.get(one.id) !== JSON.stringify(one)).map((one) => one.id));
    seen = new Map(page.items.map((one) => [one.id, JSON.stringify(one)]));
    if (!page.items.length && !isColumns) show(body, empty());
    else show(body, isColumns ? columns(page.items, known, fresh) : table(page, known, fresh));
  }

  function empty() {
    if (set.search) return h("div", { class: "panel empty" }, `Nothing here has “${set.search}” in its name.`);
    return h("div", { class: "panel empty" }, h("p", {}, `There are no ${spoken(name).toLowerCase()} yet.`),
      h("button", { type: "button", class: "main", id: "first", onclick: () => go(`#/${name}/+`) }, "Make the first one"));
  }

  function table(page, known, fresh) {
    const others = Object.entries(entity.fields).filter(([one, field]) => one !== entity.label && field.type !== "binary" && field.type !== "json").slice(0, MOST_COLUMNS - 1);
    const names = [entity.label ?? "id", ...others.map(([one]) => one)];
    const heading = (one) => {
      const now = set.sort === one ? "ascending" : set.sort === `-${one}` ? "descending" : "none";
      const turn = () => { set.sort = now === "none" ? one : now === "ascending" ? `-${one}` : ""; fill(); };
      return h("th", { scope: "col", "aria-sort": now }, h("button", { type: "button", id: `sort-${one}`, onclick: turn }, one === "id" ? "Id" : spoken(one)));
    };
    return h("div", { class: "panel" },
      h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, names.map(heading))),
        h("tbody", {}, page.items.map((one) => h("tr", { class: fresh.has(one.id) ? "fresh" : "" },
          h("th", { scope: "row" }, h("a", { id: `open-${one.id}`, href: `#/${name}/${encodeURIComponent(one.id)}` }, labelOf(entity, one))),
          others.map(([key, field]) => h("td", {}, shown(field, one[key], known)))))))),
      page.items.length < page.totalItems && h("div", { class: "more" },
        h("button", { type: "button", id: "more", onclick: () => { set.count = Math.min(set.count + PAGE, 1000); fill(); } }, "Show more")));
  }

  function columns(items, known, fresh) {
    const [key, field] = divides(entity);
    const groups = field.type === "enum" ? field.values.map((one) => [one, spoken(one)]) : [...known.get(field.entity)];
    if (items.some((one) => !one[key])) groups.unshift(["", `No ${spoken(key).toLowerCase()}`]);
    const chips = Object.entries(entity.fields).filter(([one, other]) => one !== key && one !== entity.label && ["enum", "ref", "list<enum>"].includes(other.type) || other.format).slice(0, 3);
    const isDone = entity.fields.done?.type === "boolean" ? "done" : null;
    return h("div", { class: "columns" }, groups.map(([value, text]) => {
      const inside = items.filter((one) => (one[key] ?? "") === value);
      const column = h("section", { class: "column", "aria-label": text },
        h("h2", {}, text, h("span", { class: "none" }, inside.length)),
        h("ul", {}, inside.map((one) => card(one))));
      column.addEventListener("dragover", (event) => { event.preventDefault(); column.classList.add("over"); });
      column.addEventListener("dragleave", () => column.classList.remove("over"));
      column.addEventListener("drop", (event) => { event.preventDefault(); column.classList.remove("over"); move(event.dataTransfer.getData("text/plain"), value); });
      return column;

      function card(one) {
        const label = labelOf(entity, one);
        return h("li", { class: `panel card ${fresh.has(one.id) ? "fresh" : ""} ${isDone && one[isDone] ? "done" : ""}`, draggable: true,
          ondragstart: (event) => event.dataTransfer.setData("text/plain", one.id) },
          h("a", { id: `open-${one.id}`, href: `#/${name}/${encodeURIComponent(one.id)}` }, label),
          h("div", { class: "foot" },
            chips.filter(([other]) => one[other] && one[other].length !== 0).map(([other, kind]) => shown(kind, one[other], known)),
            h("select", { id: `move-${one.id}`, "aria-label": `Move ${label} to`, onchange: (event) => move(one.id, event.target.value) },
              groups.map(([to, word]) => h("option", { value: to, selected: to === value }, word)))));
      }
    }));

    async function move(id, value) {
      const answer = await api.call("PATCH", api.records(name, id), { [key]: value || null });
      if (!answer.ok) note(answer.value.message, true);
      await fill();
    }
  }

  return {
    draw,
    refresh: fill,
    title: () => spoken(name),
    back: () => {
      if (!set.search) return false;
      set.search = "";
      const box = document.getElementById("search");
      if (box) box.value = "";
      fill();
      return true;
    },
  };
}

/** The field that columns are made of: a status, else the first reference or choice. */
function divides(entity) {
  const found = Object.entries(entity.fields).filter(([, field]) => (field.type === "enum" || field.type === "ref") && !field.readOnly && field.entity !== entity.name);
  return found.find(([name]) => /^(status|state|stage|column|list)$/.test(name)) ?? found.find(([, field]) => field.type === "ref") ?? found[0] ?? null;
}

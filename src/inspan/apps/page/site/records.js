// One record: what is in it, what can be done with it, and changing it.

import { confirmed, h, note, show, spoken } from "./dom.js";
import * as api from "./api.js";
import { labelOf, labelsFor, shown } from "./values.js";
import { fieldsForm, runOperation, writable } from "./forms.js";

/** A form for a new record. */
export function newView({ model, put, go }, name) {
  let form = null;
  const back = () => go(`#/${name}`);
  return {
    async draw() {
      const entity = await model.entity(name);
      const known = await labelsFor(model, entity.fields);
      // The same key for each attempt, so that a second click or a lost answer makes no second record.
      const key = crypto.randomUUID?.() ?? String(Math.random());
      form = fieldsForm({
        fields: writable(entity), values: {}, known, word: "Save", cancel: back,
        submit: (values) => api.call("POST", api.records(name), values, { "Idempotency-Key": key }),
        done: (answer) => { note(`${labelOf(entity, answer.value)} is saved.`); go(`#/${name}/${encodeURIComponent(answer.value.id)}`); },
      });
      form.className = "panel";
      put(crumb(name), h("div", { class: "head" }, h("h1", {}, `New in ${spoken(name).toLowerCase()}`)), form);
      form.querySelector("input, select, textarea")?.focus();
    },
    title: () => `New in ${spoken(name).toLowerCase()}`,
    back: () => { back(); return true; },
  };
}

/** One record, read or edited. What is drawn is what was asked for last; what a person typed is not drawn over. */
export function recordView({ model, put, go }, name, id) {
  let record = null;
  let form = null;
  let latest = 0;
  const notice = h("div", {});

  async function draw() {
    const mine = ++latest;
    const entity = await model.entity(name);
    const [answer, level, known] = await Promise.all([
      api.call("GET", api.records(name, id)), api.describeRecord(entity.module, name, id), labelsFor(model, entity.fields),
    ]);
    if (mine !== latest) return;
    if (form) return meet(answer, entity, known);
    if (!answer.ok) {
      put(crumb(name), h("p", { class: "empty" }, "This record is not there, or not any more."));
      return;
    }
    record = answer.value;
    const available = new Map((level.value.operations ?? []).map((one) => [one.name, one]));
    const rows = Object.entries(entity.fields).filter(([one]) => one !== entity.label);
    put(crumb(name),
      h("div", { class: "head" }, h("h1", {}, labelOf(entity, record)), h("div", { class: "actions" },
        h("button", { type: "button", id: "edit", class: "main", "data-key": "e", onclick: () => edit(entity, known) }, "Edit"),
        h("button", { type: "button", id: "delete", class: "danger", onclick: () => remove(entity) }, "Delete"))),
      notice,
      h("div", { class: entity.operations.length ? "split" : "" },
        h("dl", { class: "panel fields" }, rows.map(([one, field]) => h("div", {}, h("dt", {}, spoken(one)), h("dd", {}, shown(field, record[one], known)))),
          h("div", {}, h("dt", {}, "Id"), h("dd", {}, h("code", {}, record.id)))),
        entity.operations.length > 0 && h("section", { class: "panel side", "aria-label": "What can be done" },
          entity.operations.map((one) => operation(one, available.get(one.name))))));
  }

  /** Brings a form that is open together with what the app has now. */
  function meet(answer, entity, known) {
    if (answer.ok && JSON.stringify(answer.value) === JSON.stringify(record)) return;
    if (answer.ok && !form.isTouched()) {
      record = answer.value;
      return drawForm(entity, known);
    }
    // What was typed stays; the person decides.
    show(notice, h("div", { class: "notice" }, `Somebody else ${answer.ok ? "changed" : "deleted"} this record meanwhile.`,
      h("button", { type: "button", id: "anew", onclick: () => { form = null; show(notice); draw(); } }, "Show it as it is now")));
  }

  function operation(one, row) {
    const isBlocked = row?.available === false;
    const points = Object.entries(one.params).filter(([, field]) => field.type === "ref" && field.entity === name);
    const given = points.length === 1 ? { [points[0][0]]: id } : {};
    const why = `why-${one.name}`;
    return h("div", {},
      h("button", { type: "button", id: `act-${one.name}`, class: one.destructive ? "danger" : "", disabled: isBlocked, "aria-describedby": why,
        onclick: () => runOperation(model, one, { given, done: draw }) }, spoken(one.name)),
      h("p", { class: "why", id: why }, isBlocked ? `Not now: ${row.blocked}.` : one.description ?? ""));
  }

  function edit(entity, known) {
    drawForm(entity, known);
    form.querySelector("input, select, textarea")?.focus();
  }

  function drawForm(entity, known) {
    const stop = () => { form = null; show(notice); draw().then(() => document.getElementById("edit")?.focus()); };
    form = fieldsForm({
      fields: writable(entity), values: record, known, word: "Save", cancel: stop, onlyChanged: true,
      submit: (values) => (Object.keys(values).length ? api.call("PATCH", api.records(name, id), values) : { ok: true }),
      done: () => { note("Saved."); stop(); },
    });
    form.className = "panel";
    put(crumb(name), h("div", { class: "head" }, h("h1", {}, `Edit ${labelOf(entity, record)}`)), notice, form);
  }

  async function remove(entity) {
    if (!(await confirmed(`Delete ${labelOf(entity, record)}?`, "It is gone for good, and what points to it points to nothing.", "Delete"))) return;
    const answer = await api.call("DELETE", api.records(name, id));
    if (!answer.ok) return note(answer.value.message, true);
    note("Deleted.");
    go(`#/${name}`);
  }

  return {
    draw,
    title: () => (record ? "" : "") || spoken(name),
    refresh: draw,
    back: () => {
      if (form) { form = null; show(notice); draw(); } else go(`#/${name}`);
      return true;
    },
  };
}

const crumb = (name) => h("p", { class: "crumb" }, h("a", { href: `#/${name}` }, `← ${spoken(name)}`));

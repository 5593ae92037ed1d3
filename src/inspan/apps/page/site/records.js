// One record: what is in it, what can be done with it, and changing it.

import { confirmed, h, note, show, spoken } from "./dom.js";
import * as api from "./api.js";
import { labelOf, labelsFor, shown } from "./values.js";
import { fieldsForm, runOperation, writable } from "./forms.js";

const CHANGED = "The app was changed meanwhile.";

/** Says over a form that what it is about is different now. What was typed stays; the person decides. */
const tell = (notice, text, word, onclick) =>
  show(notice, h("div", { class: "notice" }, text, h("button", { type: "button", id: "anew", onclick }, word)));

/** Whether a form goes on although the app declares something else: as `draw` says, or as it is where its place is gone. */
async function staysOpen(form, notice, { model, anew }, name, draw) {
  if (form && model.has(name)) await draw();
  else if (form?.isTouched()) tell(notice, "The app has no such place any more.", "Show what there is", anew);
  else return false;
  return true;
}

/** A form for a new record. */
export function newView(context, name) {
  const { model, put, go } = context;
  let form = null;
  let shape = "";
  let latest = 0;
  const notice = h("div", {});
  const back = () => go(`#/${name}`);

  async function draw() {
    const mine = ++latest;
    const entity = await model.entity(name);
    const known = await labelsFor(model, entity.fields);
    if (mine !== latest) return;
    if (form && JSON.stringify(entity) === shape) return;
    if (form?.isTouched()) tell(notice, CHANGED, "Show the new form", () => drawForm(entity, known, form.typed()));
    else drawForm(entity, known);
  }

  function drawForm(entity, known, typed = {}) {
    const isFirst = !form;
    // The same key for each attempt, so that a second click or a lost answer makes no second record.
    const key = crypto.randomUUID?.() ?? String(Math.random());
    shape = JSON.stringify(entity);
    form = fieldsForm({
      fields: writable(entity), values: {}, typed, known, word: "Save", cancel: back,
      submit: (values) => api.call("POST", api.records(name), values, { "Idempotency-Key": key }),
      done: (answer, isOpen) => { note(`${labelOf(entity, answer.value)} is saved.`); if (isOpen) go(`#/${name}/${encodeURIComponent(answer.value.id)}`); },
    });
    form.className = "panel";
    show(notice);
    put(crumb(name), h("div", { class: "head" }, h("h1", {}, `New in ${spoken(name).toLowerCase()}`)), notice, form);
    if (isFirst) form.querySelector("input, select, textarea")?.focus();
  }

  return {
    draw,
    meetChange: () => staysOpen(form, notice, context, name, draw),
    title: () => `New in ${spoken(name).toLowerCase()}`,
    back: () => { back(); return true; },
  };
}

/** One record, read or edited. What is drawn is what was asked for last; what a person typed is not drawn over. */
export function recordView(context, name, id) {
  const { model, put, go, isHere } = context;
  let record = null;
  let form = null;
  let shape = "";
  let latest = 0;
  const notice = h("div", {});

  /** Says whether the record was put there to be read. */
  async function draw() {
    const mine = ++latest;
    const entity = await model.entity(name);
    const [answer, level, known] = await Promise.all([
      api.call("GET", api.records(name, id)), api.describeRecord(entity.module, name, id), labelsFor(model, entity.fields),
    ]);
    if (mine !== latest) return;
    if (!answer.ok && answer.status !== 404) throw new Error(answer.value.message);
    if (form) return meet(answer, entity, known);
    if (!answer.ok) {
      put(crumb(name), h("p", { class: "empty" }, "This record is not there, or not any more."));
      return;
    }
    record = answer.value;
    const available = new Map((level.value.operations ?? []).map((one) => [one.name, one]));
    const rows = Object.entries(entity.fields).filter(([one]) => one !== entity.label);
    return put(crumb(name),
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
    const isOtherForm = JSON.stringify(entity) !== shape;
    if (answer.ok && !isOtherForm && JSON.stringify(answer.value) === JSON.stringify(record)) return;
    const drawNow = (typed) => { record = answer.value; drawForm(entity, known, typed); };
    if (answer.ok && !form.isTouched()) return drawNow();
    if (answer.ok && isOtherForm) return tell(notice, CHANGED, "Show the new form", () => drawNow(form.typed()));
    tell(notice, `Somebody else ${answer.ok ? "changed" : "deleted"} this record meanwhile.`, "Show it as it is now",
      () => { form = null; show(notice); draw(); });
  }

  function operation(one, row) {
    const isBlocked = row?.available === false;
    const points = Object.entries(one.params).filter(([, field]) => field.type === "ref" && field.entity === name);
    const given = points.length === 1 ? { [points[0][0]]: id } : {};
    const why = `why-${one.name}`;
    return h("div", {},
      h("button", { type: "button", id: `act-${one.name}`, class: one.destructive ? "danger" : "", disabled: isBlocked, "aria-describedby": why,
        onclick: () => runOperation(model, one, { given, isHere, done: draw }) }, spoken(one.name)),
      h("p", { class: "why", id: why }, isBlocked ? `Not now: ${row.blocked}.` : one.description ?? ""));
  }

  function edit(entity, known) {
    drawForm(entity, known);
    form.querySelector("input, select, textarea")?.focus();
  }

  function drawForm(entity, known, typed = {}) {
    const stop = async () => {
      form = null;
      show(notice);
      if (await draw()) document.getElementById("edit")?.focus();
    };
    shape = JSON.stringify(entity);
    form = fieldsForm({
      fields: writable(entity), values: record, typed, known, word: "Save", cancel: stop, onlyChanged: true,
      submit: (values) => (Object.keys(values).length ? api.call("PATCH", api.records(name, id), values) : { ok: true }),
      done: (_answer, isOpen) => { note("Saved."); if (isOpen) stop(); },
    });
    form.className = "panel";
    show(notice);
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
    title: () => spoken(name),
    refresh: draw,
    meetChange: () => staysOpen(form, notice, context, name, draw),
    back: () => {
      if (form) { form = null; show(notice); draw(); } else go(`#/${name}`);
      return true;
    },
  };
}

const crumb = (name) => h("p", { class: "crumb" }, h("a", { href: `#/${name}` }, `← ${spoken(name)}`));

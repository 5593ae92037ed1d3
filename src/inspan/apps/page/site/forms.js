// Forms for records and for operations: what is wrong stands at its field, and the first of them gets the keyboard.

import { confirmed, h, note, openDialog, spoken } from "./dom.js";
import { editor, labelsFor } from "./values.js";
import * as api from "./api.js";

/**
 * A form over fields. `submit(values)` gives an answer of the app; `done(answer, isOpen)` is called where it is good,
 * with whether the form is still to be seen: who gave it up meanwhile is elsewhere, and stays there. What was `typed`
 * into a form before this one is there again, as far as a field is still what it was.
 */
export function fieldsForm({ fields, values, typed = {}, known, word, submit, done, cancel, prefix, onlyChanged = false }) {
  const start = (name, field) => (typed[name]?.type === field.type ? typed[name].value : values[name]);
  const editors = Object.entries(fields).map(([name, field]) => [name, field, editor(name, field, start(name, field), known, prefix)]);
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const button = h("button", { type: "submit", class: "main" }, word);
  let isTouched = Object.keys(typed).length > 0;
  const form = h("form", { noValidate: true, oninput: () => { isTouched = true; }, onsubmit: send }, problem, editors.map(([, , one]) => one.element),
    h("div", { class: "actions" }, button, cancel && h("button", { type: "button", onclick: cancel }, "Cancel")));
  form.isTouched = () => isTouched;
  form.typed = () => Object.fromEntries(editors.flatMap(([name, field, one]) => {
    try {
      const value = one.read();
      return isSame(name, field, value) ? [] : [[name, { type: field.type, value }]];
    } catch {
      return [];
    }
  }));
  return form;

  function isSame(name, field, value) {
    const before = values[name] ?? (field.type.startsWith("list") ? [] : field.type === "boolean" ? false : null);
    return JSON.stringify(value === "" ? null : value) === JSON.stringify(before === "" ? null : before);
  }

  async function send(event) {
    event.preventDefault();
    clear();
    const sent = {};
    for (const [name, field, one] of editors) {
      try {
        const value = one.read();
        if (onlyChanged ? !isSame(name, field, value) : value !== null && value !== "" && !(Array.isArray(value) && !value.length)) sent[name] = value;
      } catch {
        return wrong([{ field: name, expected: "JSON" }], "");
      }
    }
    // Nothing is typed while it is on its way: it would be in neither what is sent nor what is shown next.
    form.inert = true;
    const answer = await submit(sent).catch(() => ({ ok: false, value: { message: "The app does not answer. Nothing was lost here: try again when it does." } }));
    form.inert = false;
    if (answer.ok) done(answer, form.isConnected);
    else if (form.isConnected) wrong(answer.value.violations ?? [], answer.value.message ?? "It did not work.");
    else note(answer.value.message ?? "It did not work.", true);
  }

  function clear() {
    problem.hidden = true;
    for (const place of form.querySelectorAll(".wrong")) place.hidden = true;
    for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
  }

  function wrong(violations, message) {
    let first = null;
    for (const one of violations) {
      const field = form.querySelector(`[data-field="${CSS.escape(one.field)}"]`);
      if (!field) continue;
      const place = field.querySelector(".wrong");
      place.textContent = one.code === "missing_required" ? "This is needed." : `Expected ${one.expected ?? "something else"}.`;
      place.hidden = false;
      const control = field.querySelector("input, select, textarea, fieldset");
      control.setAttribute("aria-invalid", "true");
      first ??= control;
    }
    if (!first) {
      problem.textContent = message;
      problem.hidden = false;
    }
    (first ?? button).focus();
  }
}

export const writable = (entity) => Object.fromEntries(Object.entries(entity.fields).filter(([, field]) => !field.readOnly));

const begun = new Set();

/** Runs an operation: asks for its arguments, and before it destroys something. `done(result)` follows. Once at a time. */
export async function runOperation(model, operation, how) {
  if (begun.has(operation.name)) return;
  begun.add(operation.name);
  try {
    await begin(model, operation, how);
  } finally {
    begun.delete(operation.name);
  }
}

async function begin(model, operation, { given = {}, isHere, done }) {
  const open = Object.fromEntries(Object.entries(operation.params ?? {}).filter(([name]) => !(name in given)));
  const start = async (args) => {
    const path = `/api/ops/${encodeURIComponent(operation.name)}`;
    let answer = await api.call("POST", path, { ...given, ...args });
    if (answer.status === 428) {
      const text = `${operation.description ?? spoken(operation.name)} This cannot be undone.`;
      if (!(await confirmed(`${spoken(operation.name)}?`, text, spoken(operation.name)))) return { ok: true, isGivenUp: true };
      answer = await api.call("POST", path, { ...given, ...args }, { "X-A2App-Approval": answer.value.approvalKey });
      if (!answer.ok) note(answer.value.message, true);
    }
    return answer;
  };
  const finish = (answer) => {
    const result = answer.value.result;
    if (typeof result?.task === "string") {
      note("An agent was asked. How far it is stands under “Work for agents”.");
      return done?.(result);
    }
    const text = result !== null && typeof result === "object" && Object.values(result).every((one) => typeof one !== "object")
      ? Object.entries(result).map(([name, value]) => `${spoken(name)}: ${value}`).join(", ") : typeof result === "string" ? result : "";
    note(text && text.length < 160 ? `${spoken(operation.name)}: ${text}` : `${spoken(operation.name)} is done.`);
    done?.(result);
  };
  if (!Object.keys(open).length) {
    try {
      const answer = await start({});
      if (answer.isGivenUp) return;
      if (answer.ok) finish(answer);
      else note(answer.value.message, true);
    } catch {
      note("The app does not answer.", true);
    }
    return;
  }
  const known = await labelsFor(model, open);
  if (!isHere()) return;
  const form = fieldsForm({
    fields: open, values: {}, known, word: spoken(operation.name), prefix: "argument", submit: start, cancel: () => close(),
    done: (answer) => {
      if (answer.isGivenUp) return;
      close();
      finish(answer);
    },
  });
  const close = openDialog(spoken(operation.name), h("div", {}, operation.description && h("p", { class: "text" }, operation.description), form));
  form.querySelector("input, select, textarea")?.focus();
}

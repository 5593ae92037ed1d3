// Values of fields: how they are shown, and how they are filled in.

import { h, spoken } from "./dom.js";
import * as api from "./api.js";

const labels = new Map();

/** Forgets labels of other records, because something changed. */
export const forgetLabels = () => labels.clear();

/** The records of an entity by id, as far as a page goes: `Map(id → label)`. */
export function labelsOf(model, entity) {
  if (!labels.has(entity))
    labels.set(entity, (async () => {
      const target = await model.entity(entity);
      const found = await api.list(entity, { perPage: 1000 });
      return new Map(found.items.map((one) => [one.id, labelOf(target, one)]));
    })().catch(() => { labels.delete(entity); return new Map(); }));
  return labels.get(entity);
}

export const labelOf = (entity, record) => {
  const value = entity.label === null ? null : record[entity.label];
  return value === null || value === undefined || value === "" ? record.id : String(value);
};

/** Labels of all entities that an entity's fields point to. */
export async function labelsFor(model, fields) {
  const targets = [...new Set(Object.values(fields).map((one) => one.entity).filter(Boolean))];
  const found = await Promise.all(targets.map((one) => labelsOf(model, one)));
  return new Map(targets.map((one, number) => [one, found[number]]));
}

const moods = { urgent: "bad", high: "warm", failed: "bad", blocked: "bad", done: "good", finished: "good", read: "good", low: "grey", none: "grey" };

/** A value as something to look at. */
export function shown(field, value, known) {
  if (value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length))
    return h("span", { class: "none", title: "nothing" }, "–");
  switch (field.type) {
    case "boolean":
      return h("span", { class: `chip ${value ? "good" : "grey"}` }, value ? "Yes" : "No");
    case "enum":
      return h("span", { class: `chip ${moods[value] ?? ""}` }, spoken(value));
    case "list<enum>":
      return h("span", {}, value.flatMap((one) => [h("span", { class: `chip ${moods[one] ?? ""}` }, spoken(one)), " "]));
    case "ref":
      return link(field.entity, value, known);
    case "list<ref>":
      return h("span", {}, value.flatMap((one, number) => [number ? ", " : "", link(field.entity, one, known)]));
    case "datetime":
      return h("time", { dateTime: value }, when(value));
    case "json":
      return h("code", {}, JSON.stringify(value));
    case "binary":
      return h("span", { class: "none" }, `${Math.floor((value.length * 3) / 4)} bytes`);
    default:
      if (field.format) return h("time", { dateTime: value }, dayText(value));
      return /^https?:\/\/\S+$/.test(value) ? h("a", { href: value, rel: "noreferrer noopener", target: "_blank" }, value) : String(value);
  }
}

const link = (entity, id, known) =>
  h("a", { href: `#/${entity}/${encodeURIComponent(id)}` }, known.get(entity)?.get(id) ?? id);

export function when(text) {
  const moment = new Date(text);
  if (Number.isNaN(moment.getTime())) return text;
  return text.length === 10 ? dayText(text) : moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

function dayText(text) {
  const [year, month, day] = text.split("-").map(Number);
  return new Date(year, month - 1, day).toLocaleDateString(undefined, { dateStyle: "medium" });
}

/** A field to fill in: `{element, read()}`. `read` gives the value, `undefined` for one that is to be left out. */
export function editor(name, field, value, known, prefix = "field") {
  const id = `${prefix}-${name}`;
  const described = { "aria-describedby": `${id}-hint ${id}-wrong`, required: field.required };
  const wrap = (control, read, isInline = false) => {
    const must = field.required ? h("span", { class: "must", "aria-hidden": "true" }, " *") : null;
    const title = isInline
      ? h("label", { class: "inline", htmlFor: id }, control, spoken(name), must)
      : [h("label", { htmlFor: id, class: "" }, spoken(name), must), control];
    const hint = [field.description, field.max && field.max > 12 ? `At most ${field.max} characters.` : ""].filter(Boolean).join(" ");
    return {
      element: h("div", { class: "field", "data-field": name }, title,
        h("p", { class: "hint", id: `${id}-hint`, hidden: !hint }, hint), h("p", { class: "wrong", id: `${id}-wrong`, hidden: true })),
      read,
    };
  };
  const input = (type, start, more = {}) => h("input", { id, name, type, value: start ?? "", ...described, ...more });
  switch (field.type) {
    case "boolean": {
      const box = h("input", { id, name, type: "checkbox", checked: value === true, "aria-describedby": described["aria-describedby"] });
      return wrap(box, () => box.checked, true);
    }
    case "number": {
      const box = input("number", value, { step: "any" });
      return wrap(box, () => (box.value === "" ? null : Number(box.value)));
    }
    case "datetime": {
      const isDay = typeof value === "string" && value.length === 10;
      const box = input(isDay ? "date" : "datetime-local", isDay ? value : localText(value));
      return wrap(box, () => (box.value === "" ? null : isDay ? box.value : new Date(box.value).toISOString()));
    }
    case "enum":
      return choice((field.values ?? []).map((one) => [one, spoken(one)]));
    case "ref":
      return choice([...(known.get(field.entity) ?? [])]);
    case "list<enum>":
      return several((field.values ?? []).map((one) => [one, spoken(one)]));
    case "list<ref>":
      return several([...(known.get(field.entity) ?? [])]);
    case "json": {
      const box = h("textarea", { id, name, class: "code", spellcheck: false, value: value === null || value === undefined ? "" : JSON.stringify(value, null, 2), ...described });
      return wrap(box, () => (box.value.trim() === "" ? null : JSON.parse(box.value)));
    }
    default: {
      if (field.format) {
        const box = input("date", value);
        return wrap(box, () => box.value || null);
      }
      const isLong = field.type === "binary" || field.max === undefined || field.max > 250;
      const box = isLong ? h("textarea", { id, name, value: value ?? "", ...described }) : input("text", value, { autocomplete: "off" });
      return wrap(box, () => box.value);
    }
  }

  function choice(options) {
    const all = value && !options.some(([key]) => key === value) ? [[value, value], ...options] : options;
    const box = h("select", { id, name, ...described }, h("option", { value: "" }, "–"),
      all.map(([key, text]) => h("option", { value: key, selected: key === value }, text)));
    return wrap(box, () => box.value || null);
  }

  function several(options) {
    const chosen = new Set(value ?? []);
    const boxes = options.map(([key, text]) => [key, h("input", { type: "checkbox", checked: chosen.has(key) }), text]);
    const missing = [...chosen].filter((key) => !options.some(([one]) => one === key));
    const set = h("fieldset", { id, tabIndex: -1, "aria-describedby": described["aria-describedby"], "aria-label": spoken(name) },
      boxes.length ? boxes.map(([, box, text]) => h("label", {}, box, text)) : h("span", { class: "none" }, "There is nothing to choose from."));
    return wrap(set, () => [...missing, ...boxes.filter(([, box]) => box.checked).map(([key]) => key)]);
  }
}

function localText(value) {
  if (!value) return "";
  const moment = new Date(value);
  return Number.isNaN(moment.getTime()) ? "" : new Date(moment.getTime() - moment.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

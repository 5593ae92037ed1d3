// What the app gave agents to do, and how far they are.

import { h, note, spoken } from "./dom.js";
import * as api from "./api.js";
import { when } from "./values.js";

const words = {
  submitted: ["grey", "Waits for an agent"],
  working: ["", "An agent works at it"],
  "input-required": ["warm", "The agent asks something"],
  completed: ["good", "Done"],
  failed: ["bad", "Failed"],
  canceled: ["grey", "Canceled"],
};

/** The queue. */
export function tasksView({ put }) {
  let last = "";
  let latest = 0;

  async function draw() {
    const mine = ++latest;
    const answer = await api.tasks();
    if (mine !== latest) return;
    if (!answer.ok) throw new Error(answer.value.message);
    const all = answer.value.tasks.reverse();
    const text = JSON.stringify(all);
    if (text === last) return;
    last = text;
    const isOpen = (one) => ["submitted", "working", "input-required"].includes(one.status);
    put(
      h("div", { class: "head" }, h("h1", {}, "Work for agents"),
        h("p", { class: "about" }, "What the app asks agents to do. An agent takes a task, says how far it is, and ends it once.")),
      all.length ? h("ul", { class: "tasks" }, [...all.filter(isOpen), ...all.filter((one) => !isOpen(one))].map(task))
        : h("div", { class: "panel empty" }, "Nothing was asked of an agent yet."));

    function task(one) {
      const [mood, text] = words[one.status] ?? ["", one.status];
      const { step, percent } = one.progress;
      return h("li", { class: "panel" },
        h("div", { class: "row" }, h("h2", {}, spoken(one.request.capability)), h("span", { class: `chip ${mood}` }, text),
          h("time", { class: "when", dateTime: one.updatedAt }, when(one.updatedAt))),
        isOpen(one) && (step || percent !== null) && h("div", {}, step && h("p", {}, step),
          percent !== null && h("progress", { max: 100, value: percent, "aria-label": "How far it is" })),
        one.ask && h("p", {}, typeof one.ask === "string" ? one.ask : JSON.stringify(one.ask)),
        one.reason && h("p", {}, `Why: ${spoken(one.reason)}`),
        one.result && Object.keys(one.result).length > 0 && h("pre", {}, JSON.stringify(one.result, null, 2)),
        h("details", {}, h("summary", { id: `about-${one.id}` }, "What it is about"), h("pre", {}, JSON.stringify(one.request.payload, null, 2))),
        isOpen(one) && h("div", {}, h("button", { type: "button", class: "danger", id: `cancel-${one.id}`, onclick: () => cancel(one) }, "Cancel it")));
    }
  }

  async function cancel(one) {
    const answer = await api.cancelTask(one.id);
    if (!answer.ok) note(answer.value.message, true);
    await draw();
  }

  return { draw, refresh: draw, isAlwaysFresh: true, title: () => "Work for agents" };
}

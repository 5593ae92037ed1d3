// The browser's half: a panel with the apps' page, and its row in the sidebar. The loader wants this one call, with the
// package's name as the id; React is the shell's own.

window.__ModuleLoader__.load({
  id: "inspan-agent-apps-dsh",
  factory: (require) => {
    const { createElement } = require("react");
    const PANEL = "agent-apps";
    const LABEL = "Agent Apps";

    const Icon = ({ size = 18 } = {}) =>
      createElement(
        "svg",
        { width: size, height: size, viewBox: "0 0 16 16", fill: "none", stroke: "currentColor", "aria-hidden": true },
        createElement("rect", { x: 2, y: 2, width: 12, height: 12, rx: 2 }),
        createElement("path", { d: "M2 6h12M6 6v8" }),
      );

    const Panel = () =>
      createElement("iframe", {
        src: "/agent-apps",
        title: LABEL,
        style: { border: 0, width: "100%", height: "100%" },
      });

    // A slot that the shell does not have is never there to be filled, so each waits for its own.
    const apply = (ctx) => {
      ctx.slots.inject("main", () => ctx.slots.register({ name: "main", key: PANEL }, Panel));
      ctx.slots.inject("sidebar.panellist", () =>
        ctx.slots.register({ name: "sidebar.panellist", id: PANEL, order: 60, label: () => LABEL }, Icon),
      );
    };

    return { name: "agent-apps-client", inject: ["slots"], apply };
  },
});

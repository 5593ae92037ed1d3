// Making elements without ever parsing text as HTML: whatever a record says stays text.

/** An element: `h("a", {href: "#/", onclick}, "text", child)`. Properties with a "-" or from ATTRIBUTES become attributes. */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && !name.includes("-") && name !== "list" && name !== "form") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Puts new children into `place`, and the focus back onto what has the id that had it. */
export function show(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  const { id, selectionStart, selectionEnd } = focused ?? {};
  place.replaceChildren(...children.flat().filter(Boolean));
  const again = id ? document.getElementById(id) : null;
  if (!again) return;
  again.focus({ preventScroll: true });
  if (typeof selectionStart === "number" && again.setSelectionRange && again.type !== "number")
    again.setSelectionRange(selectionStart, selectionEnd);
}

/** Says something at the edge for some seconds, aloud to who hears the page. */
export function note(text, isBad = false) {
  const said = h("p", { class: isBad ? "bad" : "" }, text);
  document.getElementById("notes").append(said);
  setTimeout(() => said.remove(), isBad ? 9000 : 4000);
}

/** A name as people write it: `due_soon` and `dueSoon` become "Due soon". */
export function spoken(name) {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[_-]+/g, " ").toLowerCase().trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

let dialogs = 0;

/** Opens a dialog over whatever is there, and gives how to close it. The keyboard stays inside, and goes back. */
export function openDialog(title, content, onclose) {
  const before = document.activeElement;
  const id = `dialog-${++dialogs}`;
  const dialog = h("dialog", { "aria-labelledby": id }, h("h2", { id }, title), content);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
    onclose?.();
  });
  document.body.append(dialog);
  dialog.showModal();
  return () => dialog.close();
}

/** Asks before something that cannot be undone. */
export function confirmed(title, text, word) {
  return new Promise((resolve) => {
    let answer = false;
    const close = openDialog(
      title,
      h("div", {}, h("p", { class: "text" }, text),
        h("div", { class: "actions" },
          h("button", { type: "button", autofocus: true, onclick: () => close() }, "Cancel"),
          h("button", { type: "button", class: "danger", id: "confirm", onclick: () => { answer = true; close(); } }, word))),
      () => resolve(answer),
    );
  });
}

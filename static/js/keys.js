// The keyboard: everything is declared in the markup.
//   data-key="e"   focuses a field or presses a control; with data-key-label it stands in the list under "?"
//   data-names="e" beside data-key-label: only stands in the list, for a key that each of many rows has
//   data-go="c"    g, then c: goes there
//   data-item      one of the things that j and k walk through; its own data-key controls come first
//   data-arrows    in here the arrow keys walk too, also out of a field of one line
const WAIT = 1200;
let goUntil = 0;

function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || target.closest("input:not([type=checkbox]), textarea, select"));
}

function current() {
  return document.activeElement?.closest("[data-item]") || document.querySelector("[data-item][data-at]");
}

function walk(step) {
  const items = [...document.querySelectorAll("[data-item]")].filter((item) => item.offsetParent);
  if (!items.length) return;
  const at = items.indexOf(current());
  const next = items[Math.min(items.length - 1, Math.max(0, at + step))];
  items.forEach((item) => item.removeAttribute("data-at"));
  next.setAttribute("data-at", "");
  if (!next.hasAttribute("tabindex")) next.tabIndex = -1;
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function press(key) {
  const wanted = `[data-key="${CSS.escape(key)}"]`;
  const control = current()?.querySelector(wanted) || [...document.querySelectorAll(wanted)].find((c) => !c.closest("[data-item]"));
  if (!control) return false;
  control.matches("input:not([type=checkbox]), textarea, select") ? control.focus() : control.click();
  return true;
}

function go(key) {
  const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
  if (link) window.location.assign(link.href);
  return Boolean(link);
}

function row(keys, label) {
  const term = document.createElement("dt");
  for (const key of keys) {
    const cap = document.createElement("kbd");
    cap.className = "kbd";
    cap.textContent = key;
    term.append(cap);
  }
  const words = document.createElement("dd");
  words.textContent = label;
  return [term, words];
}

function list() {
  const dialog = document.getElementById("keys");
  if (!dialog || dialog.open) return;
  const box = dialog.querySelector(".keys-list");
  box.querySelectorAll("[data-found]").forEach((old) => old.remove());
  const seen = new Set();
  document.querySelectorAll("[data-key-label]").forEach((control) => {
    const keys = control.dataset.go ? ["g", control.dataset.go] : [control.dataset.key || control.dataset.names];
    const name = keys.join(" ");
    if (seen.has(name)) return;
    seen.add(name);
    row(keys, control.dataset.keyLabel).forEach((part) => {
      part.dataset.found = "";
      box.append(part);
    });
  });
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-open-keys]")) list();
}, true);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step && !event.shiftKey && event.target.closest?.("[data-arrows]")) {
    walk(step);
    event.preventDefault();
    return;
  }
  if (isTyping(event.target)) return;
  if (document.querySelector("dialog:modal")) return;
  if (goUntil > event.timeStamp) {
    goUntil = 0;
    if (go(event.key)) event.preventDefault();
    return;
  }
  if (event.key === "g") goUntil = event.timeStamp + WAIT;
  else if (event.key === "?") document.querySelector("[data-open-keys]")?.click();
  else if (event.key === "j") walk(1);
  else if (event.key === "k") walk(-1);
  else if (!press(event.key)) return;
  event.preventDefault();
});

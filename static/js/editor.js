// The editing surface beyond links and forms: choosing several, dragging, arrow keys on a grip, Enter and Esc in a
// wording, undo by Ctrl+Z, and the focus where it was after a part of the page was renewed.
const chosen = new Set();
const bar = () => document.getElementById("chosen");

/* ---------- choosing ---------- */
function count() {
  const form = bar();
  if (!form) return;
  form.hidden = chosen.size === 0;
  const words = form.querySelector("[data-count]");
  words.textContent = chosen.size === 1 ? words.dataset.one : words.dataset.many.replace("{n}", chosen.size);
  form.querySelector("[data-choose-none]").hidden = false;
}

function boxes() {
  return [...document.querySelectorAll('input[type=checkbox][name="memory"]')];
}

function mark(box, on) {
  box.checked = on;
  box.closest(".bullet").classList.toggle("is-picked", on);
  on ? chosen.add(box.value) : chosen.delete(box.value);
}

function again() {
  const here = new Set(boxes().map((box) => box.value));
  [...chosen].filter((id) => !here.has(id)).forEach((id) => chosen.delete(id));
  boxes().forEach((box) => mark(box, box.checked || chosen.has(box.value)));
  count();
}

let lastBox = null;
document.addEventListener("click", (event) => {
  const box = event.target.closest?.('input[type=checkbox][name="memory"]');
  if (box) {
    const all = boxes();
    const [from, to] = [all.indexOf(lastBox), all.indexOf(box)];
    if (event.shiftKey && from >= 0) all.slice(Math.min(from, to), Math.max(from, to) + 1).forEach((one) => mark(one, box.checked));
    mark(box, box.checked);
    lastBox = box;
    count();
  }
  if (event.target.closest?.("[data-choose-all]")) {
    event.preventDefault();
    const on = boxes().some((one) => !one.checked);
    boxes().forEach((one) => mark(one, on));
    count();
  }
  if (event.target.closest?.("[data-choose-none]")) {
    boxes().forEach((one) => mark(one, false));
    count();
  }
});

/* x on a card chooses all of it */
document.addEventListener("keydown", (event) => {
  const card = event.key === "x" && event.target.matches?.("article.card") ? event.target : null;
  if (!card) return;
  const mine = [...card.querySelectorAll('input[name="memory"]')];
  const on = mine.some((box) => !box.checked);
  mine.forEach((box) => mark(box, on));
  count();
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

/* ---------- wordings ---------- */
document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("[data-edit] textarea");
  if (!field || event.isComposing) return;
  if (event.key === "Escape") {
    event.preventDefault();
    event.stopPropagation();
    field.form.querySelector("[data-cancel]").click();
  } else if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    if (!field.value.trim() && field.form.dataset.add) field.form.querySelector("[data-cancel]").click();
    else field.form.requestSubmit();
  }
}, true);

/* after a bullet was added the next one can be written at once */
let addTo = "";
document.body.addEventListener("htmx:beforeRequest", (event) => {
  remember();
  const form = event.detail.elt.closest?.("form[data-add]");
  addTo = form && event.detail.requestConfig.verb === "post" ? form.dataset.add : "";
});

function open(link) {
  if (link) window.htmx.trigger(link, "click");
}

document.addEventListener("click", (event) => {
  const edit = event.target.closest?.("[data-edit-from]");
  const add = event.target.closest?.("[data-add-from]");
  const link = document.getElementById(edit ? `t${edit.dataset.editFrom}` : `a${add?.dataset.addFrom}`);
  if (!link || !(edit || add)) return;
  event.preventDefault();
  event.target.closest("dialog")?.close();
  open(link);
});

/* what is being written is not lost by saving or leaving the page */
function unfinished() {
  return [...document.querySelectorAll("form[data-edit]")].filter((form) => {
    const field = form.querySelector("textarea");
    return field.value !== field.defaultValue && field.value.trim();
  });
}

document.addEventListener("submit", async (event) => {
  const open = unfinished();
  if (!event.target.matches("[data-finishes]") || !open.length) return;
  event.preventDefault();
  for (const form of open) {
    await new Promise((done) => {
      document.body.addEventListener("htmx:afterSettle", done, { once: true });
      form.requestSubmit();
    });
  }
  // The bar was renewed meanwhile: it is the new form that saves.
  if (!unfinished().length) document.querySelector("[data-finishes]").requestSubmit();
});
window.addEventListener("beforeunload", (event) => {
  if (unfinished().length) event.preventDefault();
});

/* ---------- focus ---------- */
let place = null;
function remember() {
  const active = document.activeElement;
  const item = active?.closest?.("[data-item]") || (document.querySelector("dialog:modal") ? place?.item : null);
  if (!item) return;
  const items = [...document.querySelectorAll("[data-item]")];
  place = { id: active.id && item.contains(active) ? active.id : item.id, item, itemId: item.id, at: items.indexOf(item) };
}

function restore() {
  if (document.activeElement && document.activeElement !== document.body) return;
  if (document.querySelector("dialog[open]") || !place) return;
  const items = [...document.querySelectorAll("[data-item]")];
  const target = document.getElementById(place.id) || document.getElementById(place.itemId) || items[Math.min(place.at, items.length - 1)];
  if (!target) return;
  if (target.matches("[data-item]") && !target.hasAttribute("tabindex")) target.tabIndex = -1;
  items.forEach((item) => item.removeAttribute("data-at"));
  (target.closest("[data-item]") || target).setAttribute("data-at", "");
  target.focus({ preventScroll: true });
}

document.addEventListener("focusin", (event) => {
  if (event.target.closest?.("[data-item]")) remember();
});
document.body.addEventListener("htmx:afterSettle", () => {
  again();
  const field = document.querySelector("form[data-edit] textarea[autofocus]");
  if (field) {
    field.removeAttribute("autofocus");
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  } else if (addTo) {
    const link = document.getElementById(`a${addTo}`);
    addTo = "";
    open(link);
  } else restore();
});
document.addEventListener("close", () => window.setTimeout(restore, 0), true);

/* ---------- undo by the usual keys ---------- */
document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  if (event.target.closest?.("textarea, select, input:not([type=checkbox]), dialog")) return;
  const key = event.key.toLowerCase();
  const wanted = key === "y" || (key === "z" && event.shiftKey) ? "redo" : key === "z" ? "undo" : "";
  if (!wanted) return;
  event.preventDefault();
  document.getElementById(wanted)?.click();
});

/* ---------- order: arrow keys on a grip, dragging ---------- */
function post(grip, values) {
  window.htmx.ajax("POST", grip.getAttribute("href"), { source: grip, values, swap: "none" });
}

document.addEventListener("keydown", (event) => {
  const grip = event.target.closest?.(".grip");
  if (!grip || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { ArrowUp: "up", ArrowDown: "down" }[event.key];
  if (!step) return;
  event.preventDefault();
  post(grip, { do: step });
});

let dragged = null;
function lifted() {
  return dragged?.closest(".bullet") || dragged?.closest("article.card");
}
function clear() {
  document.querySelectorAll(".is-over, .is-under").forEach((one) => one.classList.remove("is-over", "is-under"));
}
function under(event) {
  if (!dragged) return null;
  const isBullet = Boolean(dragged.closest(".bullet"));
  const spot = event.target.closest?.(isBullet ? ".bullet" : "article.card.is-draft");
  if (!spot || spot === lifted() || spot.matches(".is-edit")) return null;
  const box = spot.getBoundingClientRect();
  return { spot, isBullet, isBelow: !spot.matches(".add-here") && event.clientY > box.top + box.height / 2 };
}

document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest?.(".grip") || null;
  if (!dragged) return;
  const item = lifted();
  item.classList.add("is-dragged");
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", item.id);
  event.dataTransfer.setDragImage(item, 16, 16);
});
document.addEventListener("dragover", (event) => {
  const found = under(event);
  if (!found) return;
  event.preventDefault();
  clear();
  found.spot.classList.add(found.isBelow ? "is-under" : "is-over");
});
document.addEventListener("drop", (event) => {
  const found = under(event);
  if (!found) return;
  event.preventDefault();
  const { spot, isBelow, isBullet } = found;
  const values = { do: "place", [isBelow ? "after" : "before"]: (isBullet ? spot.dataset.memory : spot.dataset.block) || "" };
  if (isBullet) values.block = spot.closest("[data-drop]").dataset.drop;
  post(dragged, values);
});
document.addEventListener("dragend", () => {
  lifted()?.classList.remove("is-dragged");
  dragged = null;
  clear();
});

again();

// The editing surface beyond links and forms: Enter and Esc in a wording, undo by Ctrl+Z, and the focus where it was
// after a part of the page was renewed. Choosing and ordering have files of their own.
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
  const field = document.querySelector("form[data-edit] textarea[data-focus]");
  if (field) {
    field.removeAttribute("data-focus");
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

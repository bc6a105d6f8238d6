// What the memory pages do beyond links and forms. Dragging: the keyboard and the page without JavaScript have arrows.
let dragged = null;

function place(event) {
  const bullet = event.target.closest?.("[data-move]");
  return bullet && dragged && bullet.parentElement === dragged.parentElement ? bullet : null;
}

function clear() {
  document.querySelectorAll(".is-over").forEach((bullet) => bullet.classList.remove("is-over"));
}

document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest?.("[data-move]") || null;
  if (!dragged) return;
  dragged.classList.add("is-dragged");
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", dragged.dataset.id);
});

document.addEventListener("dragover", (event) => {
  const bullet = place(event);
  if (!bullet) return;
  event.preventDefault();
  clear();
  bullet.classList.add("is-over");
});

document.addEventListener("drop", (event) => {
  const bullet = place(event);
  if (!bullet || bullet === dragged) return;
  event.preventDefault();
  const after = event.clientY > bullet.getBoundingClientRect().top + bullet.offsetHeight / 2;
  bullet.parentElement.insertBefore(dragged, after ? bullet.nextElementSibling : bullet);
  const next = dragged.nextElementSibling;
  window.htmx.ajax("POST", dragged.dataset.move, { values: { before: next ? next.dataset.id : "" }, swap: "none" });
});

document.addEventListener("dragend", () => {
  dragged?.classList.remove("is-dragged");
  dragged = null;
  clear();
});

// The memory whose evidence is open is marked in its card.
function mark(id) {
  document.querySelectorAll(".bullet[aria-current]").forEach((bullet) => bullet.removeAttribute("aria-current"));
  if (id) document.getElementById(id)?.setAttribute("aria-current", "true");
}

document.body.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id === "drawer") mark(event.detail.target.querySelector("[data-of]")?.dataset.of);
});
document.addEventListener("close", (event) => {
  if (event.target.id === "drawer") mark("");
}, true);

// Enter saves a memory, which is one line; a text to paste is chosen as a whole.
document.addEventListener("keydown", (event) => {
  const field = event.target.closest?.("[data-enter-saves]");
  if (!field || event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  field.form.requestSubmit();
});
// A wording that is mended in place closes without a trace, and the focus goes back to where it was opened.
function leave(event, control) {
  const place = control?.closest?.(".review-edit");
  if (!place) return;
  event.preventDefault();
  place.replaceChildren();
  place.closest("[data-item]")?.querySelector(`[hx-target="#${CSS.escape(place.id)}"]`)?.focus();
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") leave(event, event.target);
});
document.addEventListener("click", (event) => leave(event, event.target.closest?.("[data-cancel]")));
document.addEventListener("focusin", (event) => {
  if (event.target.matches?.("textarea[data-copy]")) event.target.select();
});

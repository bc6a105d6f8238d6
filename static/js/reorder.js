// Drag a memory to another place of its card. The keyboard and the page without JavaScript have arrows instead.
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

// The order of an edit: arrow keys on a grip, or dragging it.
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

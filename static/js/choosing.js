// Choosing several memories of an edit: boxes, Shift for a stretch, x on a card for all of it, and the bar that says how
// many. What was chosen stays chosen when a card is renewed.
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

document.body.addEventListener("htmx:afterSettle", again);
again();

// The chat reader goes on by itself: windows of a hundred messages are fetched as their end comes near, and those that
// are far away are let go, so that the page holds four and what is near the screen. Without JavaScript there are links.
const MOST = 400;
const NEAR = 1200; // pixels from the screen: an end that is nearer is continued
const FAR = 2 * NEAR; // what is nearer than this is never let go, or it would be fetched at once again
const reader = document.getElementById("reader");
let isBusy = false;

function pager(side) {
  return document.querySelector(`.pager[data-side="${side}"]`);
}

function links(side, address) {
  const nav = pager(side);
  if (!nav) return;
  nav.querySelectorAll("a").forEach((link) => {
    const own = link.rel === "prev" ? "previous" : "following";
    link.hidden = own !== side || !address;
    if (own === side && address) link.setAttribute("href", address);
  });
  nav.querySelector("span").textContent = "";
}

// The messages that leave take their height with them; what is on the screen stays where it is.
function still(change) {
  const seen = [...reader.children].find((one) => one.getBoundingClientRect().bottom > 0);
  const before = seen ? seen.getBoundingClientRect().top : 0;
  change();
  if (seen?.isConnected) window.scrollBy({ top: seen.getBoundingClientRect().top - before, behavior: "instant" });
}

function numbers() {
  return [...reader.querySelectorAll(":scope > .msg")].map((one) => Number(one.value));
}

function address(number) {
  const query = new URLSearchParams(window.location.search);
  query.set("at", number);
  for (const name of ["mark", "goto", "date", "part"]) query.delete(name);
  return `?${query}`;
}

function isNear(row) {
  const box = row.getBoundingClientRect();
  return box.bottom > -FAR && box.top < window.innerHeight + FAR;
}

function trim(side, near) {
  const all = [...reader.children];
  const over = all.length - MOST;
  if (over <= 0) return;
  const farthest = side === "following" ? all.slice(0, over) : all.slice(-over).reverse();
  const last = farthest.findIndex((one) => near.has(one));
  const gone = last < 0 ? farthest : farthest.slice(0, last);
  if (!gone.length) return;
  if (gone.some((one) => one.contains(document.activeElement))) document.activeElement.blur();
  gone.forEach((one) => one.remove());
  const left = numbers();
  if (side === "following") reader.dataset.previous = address(Math.max(0, left[0] - 1));
  else reader.dataset.following = address(left[left.length - 1] + 1);
}

async function more(side) {
  const from = reader.dataset[side];
  if (!from || isBusy) return;
  isBusy = true;
  try {
    const answer = await fetch(`${from}&part=1`, { headers: { "HX-Request": "true" }, credentials: "same-origin" });
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("reader");
    if (!page) return;
    const have = new Set([...reader.children].map((one) => one.id));
    const rows = [...page.children].filter((one) => !have.has(one.id));
    const near = new Set([...reader.children].filter(isNear));
    still(() => {
      reader[side === "following" ? "append" : "prepend"](...rows);
      if (page.dataset[side]) reader.dataset[side] = page.dataset[side];
      else delete reader.dataset[side];
      trim(side, near);
      reader.start = numbers()[0] ?? 0;
      links("previous", reader.dataset.previous);
      links("following", reader.dataset.following);
    });
    rows.forEach((row) => window.htmx?.process(row));
  } finally {
    isBusy = false;
  }
}

function look() {
  for (const side of ["previous", "following"]) {
    const nav = pager(side);
    if (!nav || !reader.dataset[side]) continue;
    const box = nav.getBoundingClientRect();
    if (box.bottom > -NEAR && box.top < window.innerHeight + NEAR) more(side).then(again);
  }
}

// One window may not reach to the end of the screen.
let asked = 0;
function again() {
  window.clearTimeout(asked);
  asked = window.setTimeout(look, 60);
}

if (reader && (reader.dataset.previous || reader.dataset.following)) {
  const watch = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && again(), { rootMargin: "800px" });
  ["previous", "following"].map(pager).forEach((nav) => nav && watch.observe(nav));
}

// The menu of a message: its first action has the focus when it opens, the arrows go through it.
document.addEventListener("toggle", (event) => {
  const menu = event.target;
  if (!menu.matches?.("details.msg-menu") || !menu.open) return;
  document.querySelectorAll("details.msg-menu[open]").forEach((other) => other !== menu && (other.open = false));
  menu.classList.toggle("is-up", menu.getBoundingClientRect().bottom > window.innerHeight - 260);
  menu.querySelector(".menu a, .menu button")?.focus({ preventScroll: true });
}, true);

document.addEventListener("keydown", (event) => {
  const menu = event.target.closest?.("details.msg-menu[open]");
  if (!menu || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  const items = [...menu.querySelectorAll(".menu a, .menu button")];
  const at = items.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1);
  items[(at + items.length) % items.length].focus();
  event.preventDefault();
});

// A dialog or a drawer that a menu opens leaves the menu behind it closed.
document.addEventListener("click", (event) => {
  const menu = event.target.closest?.("details.msg-menu");
  if (menu && event.target.closest(".menu a[hx-get]")) {
    menu.open = false;
    menu.querySelector("summary").focus({ preventScroll: true });
  }
});

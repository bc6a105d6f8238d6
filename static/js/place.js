// A form that comes back to its own page gives the place back: how far one had scrolled and, to who uses the keyboard,
// what had the focus. In a list the next one takes the place of what went; a field with an error comes first.
const KEY = "charmem-place";
const LASTS = 20_000; // milliseconds; a page that comes later is no answer to this form
const CONTROLS = "main :is(a[href], button, summary, input:not([type=hidden]), select, textarea)";

const controls = () => [...document.querySelectorAll(CONTROLS)].filter((one) => one.offsetParent);
const items = () => [...document.querySelectorAll("[data-item]")].filter((one) => one.offsetParent);
const deed = (one) => [one.getAttribute("formaction") || one.form?.getAttribute("action"), one.name].join(" ");

document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") return;
  const active = document.activeElement === document.body ? event.submitter : document.activeElement;
  const item = active?.closest("[data-item]");
  const place = {
    path: location.pathname,
    until: Date.now() + LASTS,
    y: window.scrollY,
    focus: Boolean(active?.matches(":focus-visible")),
    item: item ? items().indexOf(item) : -1,
    at: active ? controls().indexOf(active) : -1,
    id: active?.id || "",
    deed: active ? deed(active) : "",
  };
  sessionStorage.setItem(KEY, JSON.stringify(place));
});

function found(place) {
  if (place.item >= 0) return items()[place.item] || items().at(-1);
  const all = controls();
  const same = place.id ? document.getElementById(place.id) : all.find((one) => one.type === "submit" && deed(one) === place.deed);
  return same || all[place.at];
}

function comeBack(place) {
  const wrong = document.querySelector("main [aria-invalid=true]");
  if (wrong) return wrong.focus();
  window.scrollTo(0, place.y);
  const target = place.focus && found(place);
  if (!target) return;
  if (place.item >= 0) {
    target.setAttribute("data-at", "");
    if (!target.hasAttribute("tabindex")) target.tabIndex = -1;
  }
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "nearest" });
}

const kept = JSON.parse(sessionStorage.getItem(KEY) || "null");
sessionStorage.removeItem(KEY);
const isAnswer = kept && kept.path === location.pathname && Date.now() < kept.until;
if (isAnswer && !location.hash && !document.querySelector("[autofocus]")) comeBack(kept);

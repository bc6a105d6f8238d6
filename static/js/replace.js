// The rows on the screen belong to the words that were looked for: while the fields say something else, for instance
// because somebody is typing, nothing can be replaced.
const names = ["find", "replace", "where", "case", "words", "pattern"];

function said(form) {
  const data = new FormData(form);
  return names.map((name) => data.get(name) ?? "").join("\n");
}

function check() {
  const fields = document.getElementById("far");
  const form = document.querySelector("#found form");
  if (!fields || !form) return;
  const isOld = said(fields) !== said(form);
  document.getElementById("found").setAttribute("aria-busy", String(isOld));
  form.querySelectorAll("button").forEach((button) => { button.disabled = isOld; });
}

document.addEventListener("input", (event) => { if (event.target.closest?.("#far")) check(); });
document.body.addEventListener("htmx:afterSwap", check);

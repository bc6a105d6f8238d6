// Toasts go by themselves after a while, never while the pointer or the focus is on them.
// A response may send one: HX-Trigger: {"toast": {"text": "…"}}; with Undo it comes as an out-of-band fragment.
const LIFE = 10000;
const box = document.getElementById("toasts");

function mind(toast) {
  let timer = 0;
  const start = () => { timer = window.setTimeout(() => toast.remove(), LIFE); };
  const stop = () => window.clearTimeout(timer);
  for (const name of ["pointerenter", "focusin"]) toast.addEventListener(name, stop);
  for (const name of ["pointerleave", "focusout"]) toast.addEventListener(name, start);
  toast.addEventListener("click", (event) => {
    if (event.target.closest("[data-dismiss]")) toast.remove();
  });
  start();
}

function say(text) {
  const toast = document.createElement("div");
  toast.className = "toast";
  const words = document.createElement("span");
  words.textContent = text;
  toast.append(words);
  box.append(toast);
}

if (box) {
  box.querySelectorAll(".toast").forEach(mind);
  new MutationObserver((changes) => {
    for (const change of changes) {
      change.addedNodes.forEach((node) => {
        if (node instanceof HTMLElement && node.matches(".toast")) mind(node);
      });
    }
  }).observe(box, { childList: true });
  document.body.addEventListener("toast", (event) => say(event.detail.text || event.detail.value));
}

document.body.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  const polled = event.detail.elt.matches('[hx-trigger^="every"]');
  if (box && !polled) say(box.dataset[status === 403 ? "old" : "failed"]);
});

document.body.addEventListener("htmx:sendError", (event) => {
  if (box && !event.detail.elt.matches('[hx-trigger^="every"]')) say(box.dataset.away);
});

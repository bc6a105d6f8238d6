// A tab that nobody looks at asks nothing; on return every polled part is asked once.
const POLLED = '[hx-get][hx-trigger^="every"]';

document.body.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.matches(POLLED)) event.preventDefault();
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  document.querySelectorAll(POLLED).forEach((element) => {
    window.htmx.ajax("GET", element.getAttribute("hx-get"), {
      source: element,
      target: element,
      swap: element.getAttribute("hx-swap") || "outerHTML",
    });
  });
});

// "Copy" beside a field; hidden where the browser keeps the clipboard to itself (no https on the home network).
if (navigator.clipboard) document.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(field.value ?? field.textContent);
  button.setAttribute("aria-pressed", "true");
});

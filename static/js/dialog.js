// The drawer and the modal: htmx fills them (hx-target="#drawer" or "#modal"), this opens, closes and returns the focus.
// Without JavaScript the same addresses are pages of their own.
const openers = new Map();

function open(dialog) {
  if (!openers.has(dialog)) openers.set(dialog, document.activeElement);
  if (!dialog.open) dialog.id === "drawer" ? dialog.show() : dialog.showModal();
  const heading = dialog.querySelector("h2");
  const first = dialog.querySelector("[autofocus]") || heading || dialog.querySelector("button, a, input");
  if (first === heading && heading) heading.tabIndex = -1;
  first?.focus();
}

function close(dialog) {
  if (dialog?.open) dialog.close();
}

function restore(event) {
  const dialog = event.target;
  if (!(dialog instanceof HTMLDialogElement)) return;
  if (dialog.id === "drawer" || dialog.id === "modal") dialog.replaceChildren();
  const opener = openers.get(dialog);
  openers.delete(dialog);
  if (opener?.isConnected) opener.focus();
}

document.addEventListener("close", restore, true);

document.body.addEventListener("htmx:afterSwap", (event) => {
  const target = event.detail.target;
  if (target instanceof HTMLDialogElement) target.childElementCount ? open(target) : close(target);
});

document.body.addEventListener("modal:close", () => {
  document.querySelectorAll("dialog#modal, dialog#drawer").forEach(close);
});

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-open-keys]");
  if (opener) open(document.getElementById("keys"));
  if (event.target.closest("[data-close]")) {
    event.preventDefault();
    close(event.target.closest("dialog"));
  }
  document.querySelectorAll("details.me-menu[open], details.menu-box[open]").forEach((menu) => {
    if (!menu.contains(event.target) || opener) menu.open = false;
  });
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("details.me-menu[open], details.menu-box[open]");
  const drawer = document.querySelector("dialog#drawer[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  } else if (drawer && !document.querySelector("dialog:modal")) close(drawer);
});

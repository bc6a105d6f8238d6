// A value that somebody changes is meant: its tick "own value" comes by itself.
document.addEventListener("input", (event) => {
  const tick = event.target.closest(".extraction-row")?.querySelector(".own-tick input");
  if (tick && tick !== event.target) tick.checked = true;
});

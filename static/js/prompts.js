// Prompts: put a variable in where the cursor stands, jump to a line, and choose without pressing Show.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-insert]");
  if (button) return insert(document.getElementById(button.dataset.into), button.dataset.insert);
  const link = event.target.closest("[data-line]");
  if (link) {
    event.preventDefault();
    goTo(document.getElementById(link.hash.slice(1)), Number(link.dataset.line));
  }
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});

function insert(field, words) {
  field.setRangeText(words, field.selectionStart, field.selectionEnd, "end");
  field.focus();
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

function goTo(field, number) {
  const lines = field.value.split("\n");
  const start = lines.slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
  field.focus();
  field.setSelectionRange(start, start + (lines[number - 1] ?? "").length);
}

// The sum of what is ticked, at once; without this the server works it out.
const form = document.getElementById("batch-form");

function leavesOf(branch) {
  return [...branch.closest("li").querySelectorAll("input[name=chat]")];
}

function addUp() {
  const chosen = [...form.querySelectorAll("input[name=chat]:checked")];
  const total = (name) => chosen.reduce((sum, one) => sum + Number(one.dataset[name] || 0), 0);
  const line = form.querySelector("[data-sum]");
  const number = new Intl.NumberFormat(document.documentElement.lang);
  const isPriced = chosen.every((one) => one.dataset.price !== "");
  line.textContent = chosen.length === 0 ? line.dataset.none : line.dataset.words
    .replace("MESSAGES", number.format(total("messages")))
    .replace("CALLS", number.format(total("calls")))
    .replace("TOKENS", number.format(total("tokens")))
    + (isPriced ? `, ≈ ${money(total("price"), number)}` : "");
  form.querySelector("[data-start]").disabled = chosen.length === 0;
  for (const branch of form.querySelectorAll("[data-branch]")) {
    const leaves = leavesOf(branch);
    const ticked = leaves.filter((one) => one.checked).length;
    branch.checked = ticked === leaves.length && ticked > 0;
    branch.indeterminate = ticked > 0 && ticked < leaves.length;
  }
}

function money(dollars, number) {
  return dollars < 1 ? `${number.format(Math.round(dollars * 1000) / 10)} ¢` : `$${number.format(Math.round(dollars * 100) / 100)}`;
}

if (form) {
  for (const hidden of form.querySelectorAll(".no-js")) hidden.hidden = true;
  for (const branch of form.querySelectorAll("[data-branch]")) branch.removeAttribute("name");
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-branch]")) {
      for (const one of leavesOf(event.target)) one.checked = event.target.checked;
    }
    addUp();
  });
  addUp();
}

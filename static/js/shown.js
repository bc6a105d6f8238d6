// Rows that scroll sideways on a narrow page show where you are: the current tab, queue, revision or part of the settings.
const ROWS = ".tabs, .segments, .side-nav, .revs ol";

document.querySelectorAll(ROWS).forEach((row) => {
  const here = row.querySelector("[aria-current]");
  if (!here || row.scrollWidth <= row.clientWidth) return;
  const [outer, inner] = [row.getBoundingClientRect(), here.getBoundingClientRect()];
  if (inner.left < outer.left || inner.right > outer.right) row.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
});

// Tables are sorted by a click on a heading (up, down, as they were); long ones are filtered by words.
"use strict";
// Unknown is last either way; unbounded is more than any number; an interval counts by its first number.
function keyOf(cell) {
  const text = cell.textContent.trim();
  const number = parseFloat(text.replace(/^(at least |about |\[)+/, "").replaceAll(",", ""));
  return { text, number: /unbounded/.test(text) ? Infinity : number, unknown: text === "" || text === "-" };
}
function compare(a, b) {
  const order = a.number - b.number;
  return Number.isNaN(order) ? a.text.localeCompare(b.text, undefined, { numeric: true }) : order;
}

document.querySelectorAll("table").forEach((table) => {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  if (rows.length < 2) return;
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.dataset.sortable = heading.tabIndex = 0;
    const sort = () => {
      const next = { ascending: "descending", descending: null }[heading.ariaSort] ?? (heading.ariaSort ? null : "ascending");
      headings.forEach((each) => (each.ariaSort = null));
      heading.ariaSort = next;
      const keyed = rows.map((row) => ({ row, ...keyOf(row.cells[column]) }));
      const sign = next === "descending" ? -1 : 1;
      if (next) keyed.sort((a, b) => a.unknown - b.unknown || sign * (compare(a, b) || 0));
      body.append(...keyed.map(({ row }) => row));
    };
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", ({ key }) => key === "Enter" && sort());
  });
  if (rows.length <= 25) return;
  const box = Object.assign(document.createElement("input"), { type: "search", placeholder: "rows with all of these words" });
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/);
    rows.forEach((row) => (row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word))));
  });
  table.parentElement.before(box);
});

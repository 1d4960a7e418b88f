// Tables that are sorted by their headings and filtered by a box and lists. Without JavaScript they stand in the order
// of the suite, whole. Nothing is fetched.
"use strict";

const collator = new Intl.Collator(undefined, { numeric: true });

// What is unknown stays last either way; an unbounded ratio is infinite, so it is the largest number.
function compared(a, b, numbers, down) {
  const unknown = ({ text }) => text === "" || text === "-";
  if (unknown(a) || unknown(b)) return unknown(a) - unknown(b);
  const order = numbers ? a.number - b.number || 0 : collator.compare(a.text, b.text); // infinite less infinite is NaN
  return down ? -order : order;
}

function sortable(table) {
  const body = table.tBodies[0];
  const first = [...body.rows]; // the order of the suite, which a third click brings back
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.title = "Sort by this column: up, down, as it was";
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      if (before === "descending") {
        body.append(...first);
        return;
      }
      const down = before === "ascending";
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const keyed = first.map((row) => {
        const text = row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
        return { row, text, number: text === "" ? NaN : Number(text) };
      });
      const numbers = keyed.every(({ text, number }) => text === "" || text === "-" || !isNaN(number));
      keyed.sort((a, b) => compared(a, b, numbers, down));
      body.append(...keyed.map(({ row }) => row));
    });
  });
}

function filtered(table) {
  const rows = [...table.tBodies[0].rows];
  const headings = [...table.tHead.rows[0].cells];
  const bar = document.createElement("form");
  bar.className = "filters";
  bar.setAttribute("role", "search");
  bar.addEventListener("submit", (event) => event.preventDefault());
  const control = (text, element) => {
    const label = document.createElement("label");
    label.append(text, element);
    bar.append(label);
    return element;
  };
  const box = control("words ", document.createElement("input"));
  box.type = "search";
  box.placeholder = "all of these words";
  const value = (row, column) => row.cells[column].dataset.c ?? row.cells[column].textContent.trim();
  const lists = headings.flatMap((heading, column) => {
    if (heading.dataset.choose === undefined) return [];
    const values = [...new Set(rows.map((row) => value(row, column)))].sort(collator.compare);
    const list = control(`${heading.textContent} `, document.createElement("select"));
    list.append(new Option("all", "\u0000"), ...values.map((each) => new Option(each, each)));
    return [{ column, list }];
  });
  const all = document.createElement("button");
  all.type = "reset";
  all.textContent = "show all";
  const count = document.createElement("output");
  count.setAttribute("aria-live", "polite");
  bar.append(all, count);
  let texts = null; // of the rows, read when they are first needed
  const choose = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    texts ??= rows.map((row) => [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase());
    let shown = 0;
    rows.forEach((row, place) => {
      const chosen = lists.every(({ column, list }) => list.value === "\u0000" || list.value === value(row, column));
      row.hidden = !chosen || !words.every((word) => texts[place].includes(word));
      shown += !row.hidden;
    });
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  bar.addEventListener("input", choose);
  bar.addEventListener("reset", () => setTimeout(choose));
  count.textContent = `${rows.length} rows`;
  table.parentElement.before(bar);
}

// On a phone a table of text is a list of its rows; every cell then says what it is.
function labelled(table) {
  const names = [...table.tHead.rows[0].cells].map((heading) => heading.textContent);
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, column) => (cell.dataset.label = names[column]));
  }
}

// A link to a row leads to it even where it is folded away or filtered out.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  for (let fold = target.closest("details"); fold !== null; fold = fold.parentElement.closest("details")) fold.open = true;
  target.querySelector(":scope > details")?.setAttribute("open", "");
  if (target.hidden) document.querySelectorAll("form.filters").forEach((bar) => bar.reset());
  setTimeout(() => target.scrollIntoView({ block: "center" }));
}

// Sorting last: it makes buttons of the headings that the others read.
document.querySelectorAll("table.filtered").forEach(filtered);
document.querySelectorAll("table.text").forEach(labelled);
document.querySelectorAll("table.sortable").forEach(sortable);
addEventListener("hashchange", reveal);
if (location.hash) reveal();

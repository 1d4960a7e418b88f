// Tables that are sorted by their headings; the one of all runs is also filtered, and its columns are chosen. Without
// JavaScript they stand in the order of the suite, whole (but for very many, which are packed). Nothing is fetched.
"use strict";

const collator = new Intl.Collator(undefined, { numeric: true });

// What is unknown stays last either way; an unbounded ratio is infinite, so it is the largest number.
function compared(a, b, numbers, down) {
  const unknown = ({ text }) => text === "" || text === "-";
  if (unknown(a) || unknown(b)) return unknown(a) - unknown(b);
  const order = numbers ? a.number - b.number || 0 : collator.compare(a.text, b.text); // infinite less infinite is NaN
  return down ? -order : order;
}

function made(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function sorted(rows, text, down) {
  const keyed = rows.map((row) => {
    const told = text(row);
    return { row, text: told, number: told === "" ? NaN : Number(told) };
  });
  const numbers = keyed.every(({ text, number }) => text === "" || text === "-" || !isNaN(number));
  return keyed.sort((a, b) => compared(a, b, numbers, down)).map(({ row }) => row);
}

// A figure is read without the commas between thousands, where no number to sort by is given.
function textOf(cell) {
  const text = cell.textContent.trim();
  return cell.dataset.v ?? (cell.classList.contains("n") ? text.replaceAll(",", "") : text);
}

// A button of what the heading says; a link to what it means stays beside it. `act` is called with the next order.
function sortButton(heading, act) {
  const words = heading.querySelector("span") ?? heading;
  const button = made("button", { type: "button", title: "Sort by this column: up, down, as it was" }, words.textContent);
  heading.dataset.name = words.textContent; // for print, which repeats headings and leaves buttons out
  if (words === heading) heading.replaceChildren(button);
  else words.replaceWith(button);
  button.addEventListener("click", () => {
    const before = heading.getAttribute("aria-sort");
    act(before === null ? "ascending" : before === "ascending" ? "descending" : null);
  });
}

function markSorted(headings, chosen, order) {
  headings.forEach((heading) => heading.removeAttribute("aria-sort"));
  if (order) chosen.setAttribute("aria-sort", order);
}

function sortable(table) {
  const body = table.tBodies[0];
  const first = [...body.rows]; // the order of the suite, which a third click brings back
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) =>
    sortButton(heading, (order) => {
      markSorted(headings, heading, order);
      body.append(...(order ? sorted(first, (row) => textOf(row.cells[column]), order === "descending") : first));
    }),
  );
}

// What was chosen stands in the query of the address, beside which links to rows have their place.
function remember(name, value, typing) {
  const query = new URLSearchParams(location.search);
  if ((query.get(name) ?? "") === value) return;
  if (value) query.set(name, value);
  else query.delete(name);
  const told = String(query);
  const address = `${location.pathname}${told && `?${told}`}${location.hash}`;
  try {
    history[typing ? "replaceState" : "pushState"](null, "", address);
  } catch {
    // A browser that keeps addresses of files as they are: the table works, and is not remembered.
  }
}

// The table of all runs: cases with a heading each. What is the same in all rows of a case becomes a column on demand.
function runs(table) {
  const head = table.tHead.rows[0];
  const facts = JSON.parse(table.dataset.facts);
  const bodies = [...table.tBodies].map((body) => ({
    body,
    title: body.rows[0],
    rows: [...body.rows].slice(1),
    facts: JSON.parse(body.dataset.facts),
  }));
  const rows = bodies.flatMap((each) => each.rows); // the order of the suite, which a third click brings back
  const factsOf = new Map(bodies.flatMap((each) => each.rows.map((row) => [row, each.facts])));
  const own = [...head.cells].map((cell) => cell.dataset.key);
  const keys = [...own, ...facts.map(([, key]) => key)];
  const names = [...[...head.cells].map((cell) => (cell.querySelector("span") ?? cell).textContent), ...facts.map(([name]) => name)];
  const standard = own.slice(0, Number(table.dataset.shown));
  const together = document.createElement("tbody"); // of all cases, where they are sorted
  const style = document.head.appendChild(document.createElement("style"));
  table.classList.add("chosen");

  const fact = (row, place, what) => {
    const [text, number] = factsOf.get(row)[place];
    return what === "v" ? (number ?? text) : text;
  };
  const read = (row, key, what) => {
    const place = keys.indexOf(key);
    if (place >= own.length) return fact(row, place - own.length, what);
    const cell = row.cells[place];
    return what === "v" ? textOf(cell) : (cell.dataset.c ?? cell.textContent.trim());
  };

  // Columns of facts are made when the first of them is shown.
  let extended = false;
  function extend() {
    if (extended) return;
    extended = true;
    facts.forEach(([name, key, term]) => {
      const heading = made("th", { scope: "col" }, made("span", {}, name));
      heading.dataset.key = key;
      if (term) {
        const note = made("a", { className: "note", href: `#${term}` }, "?");
        note.setAttribute("aria-label", `what ${name} means`);
        heading.append("\u00a0", note);
      }
      head.append(heading);
      addSorting(heading);
    });
    for (const row of rows) {
      for (const [text, number, title] of factsOf.get(row)) {
        const cell = made("td", { title, className: number === null ? "" : "n" }, text);
        if (number !== null) cell.dataset.v = number;
        row.append(cell);
      }
    }
  }

  // Columns.
  let shown = standard;
  const boxes = new Map();
  function show(chosen) {
    shown = keys.filter((key) => chosen.includes(key));
    if (shown.some((key) => !own.includes(key))) extend();
    const hidden = keys.flatMap((key, place) => (shown.includes(key) ? [] : [`.runs tr:not(.case) > :nth-child(${place + 1})`]));
    style.textContent = hidden.length ? `${hidden.join(", ")} { display: none; }` : "";
    bodies.forEach(({ title }) => (title.cells[0].colSpan = shown.length));
    boxes.forEach((box, key) => (box.checked = shown.includes(key)));
  }
  const always = own.slice(0, 2);
  const chooser = made("details", { className: "chooser" }, made("summary", {}, "Columns"));
  const choices = chooser.appendChild(made("fieldset", {}, made("legend", {}, "Columns of the table below")));
  keys.forEach((key, place) => {
    if (always.includes(key)) return;
    const box = made("input", { type: "checkbox" });
    boxes.set(key, box);
    box.addEventListener("change", () => {
      show([...always, ...keys.filter((each) => boxes.get(each)?.checked)]);
      const isStandard = shown.join() === standard.join();
      remember("columns", isStandard ? "" : shown.slice(always.length).join(",") || "none");
    });
    choices.append(made("label", {}, box, names[place]));
  });

  // Order.
  function order(key, how) {
    const heading = [...head.cells].find((cell) => cell.dataset.key === key);
    markSorted([...head.cells], heading, how);
    table.classList.toggle("sorted", Boolean(how));
    if (how) {
      bodies.forEach(({ body }) => body.remove());
      together.append(...sorted(rows, (row) => read(row, key, "v"), how === "descending"));
      table.append(together);
    } else {
      together.remove();
      bodies.forEach(({ body, rows: mine }) => {
        body.append(...mine);
        table.append(body);
      });
    }
  }
  function addSorting(heading) {
    sortButton(heading, (how) => {
      const key = heading.dataset.key;
      order(key, how);
      remember("sort", how ? `${how === "descending" ? "-" : ""}${key}` : "");
    });
  }

  // Filters.
  const bar = made("form", { className: "filters" });
  bar.setAttribute("role", "search");
  bar.setAttribute("aria-label", "Rows of the table below");
  bar.addEventListener("submit", (event) => event.preventDefault());
  const control = (text, element) => {
    bar.append(made("label", {}, text, element));
    return element;
  };
  const box = control("words ", made("input", { type: "search", placeholder: "all of these words" }));
  const choosable = [...head.cells].filter((cell) => cell.dataset.choose !== undefined).map((cell) => cell.dataset.key);
  const lists = ["group", ...choosable].map((key) => {
    const values = [...new Set(rows.map((row) => read(row, key, "c")))].sort(collator.compare);
    const list = control(`${names[keys.indexOf(key)]} `, document.createElement("select"));
    list.append(new Option("all", ""), ...values.map((each) => new Option(each, each)));
    list.parentElement.hidden = values.length < 2;
    return { key, list };
  });
  const count = document.createElement("output"); // it is told when it changes
  bar.append(made("button", { type: "reset" }, "show all"), count);
  let texts = null; // of the rows, read when they are first needed
  function filter() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const told = (row) => [...row.cells].filter((cell) => !cell.classList.contains("n")).map((cell) => cell.textContent).join(" ");
    if (words.length) texts ??= rows.map((row) => `${told(row)} ${factsOf.get(row)[0][0]}`.toLowerCase());
    let left = 0;
    rows.forEach((row, place) => {
      const chosen = lists.every(({ key, list }) => list.value === "" || list.value === read(row, key, "c"));
      row.hidden = !chosen || !words.every((word) => texts[place].includes(word));
      left += !row.hidden;
    });
    bodies.forEach(({ title, rows: mine }) => (title.hidden = mine.every((row) => row.hidden)));
    table.classList.toggle("searched", left < rows.length); // what was searched for is not folded away
    count.textContent = left < rows.length ? `${left} of ${rows.length} rows` : `${rows.length} rows`;
  }
  const rememberFilters = (typing) => {
    remember("words", box.value.trim(), typing);
    lists.forEach(({ key, list }) => remember(key, list.value, typing));
  };
  bar.addEventListener("input", (event) => {
    filter();
    rememberFilters(event.target === box);
  });
  bar.addEventListener("reset", () =>
    setTimeout(() => {
      filter();
      rememberFilters();
    }),
  );

  function restore() {
    const query = new URLSearchParams(location.search);
    const chosen = query.get("columns");
    show(chosen === null ? standard : [...always, ...chosen.split(",")]);
    const key = (query.get("sort") ?? "").replace(/^-/, "");
    if (keys.includes(key) && !own.includes(key)) extend();
    order(key, keys.includes(key) ? (query.get("sort").startsWith("-") ? "descending" : "ascending") : null);
    box.value = query.get("words") ?? "";
    lists.forEach(({ key: each, list }) => {
      list.value = query.get(each) ?? "";
      if (list.selectedIndex < 0) list.value = "";
    });
    filter();
  }
  // On a phone the rows of a case are folded under its heading.
  bodies.forEach(({ body, title, rows: mine }) => {
    const button = made("button", { type: "button", className: "unfold" });
    const fold = (away) => {
      body.classList.toggle("folded", away);
      button.setAttribute("aria-expanded", String(!away));
      button.textContent = away ? `show ${mine.length} rows` : "hide rows";
    };
    button.addEventListener("click", () => fold(!body.classList.contains("folded")));
    title.querySelector(".stay").append(button);
    body.unfold = () => fold(false);
    fold(bodies.length > 1);
  });

  [...head.cells].forEach(addSorting);
  table.parentElement.before(bar, chooser);
  restore();
  addEventListener("popstate", restore);
}

// On a phone a table of text is a list of its rows; every cell then says what it is.
function labelled(table) {
  const names = [...table.tHead.rows[0].cells].map((heading) => heading.textContent);
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, column) => (cell.dataset.label = names[column]));
  }
}

// A table of very many runs lies packed in the page until it is reached, or until the address speaks of its rows.
async function unpack(box) {
  if (box.packed === undefined) return;
  const bytes = Uint8Array.from(atob(box.packed), (letter) => letter.charCodeAt(0));
  box.packed = undefined;
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  box.innerHTML = await new Response(plain).text();
  runs(box.querySelector("table.runs"));
  reveal();
}

function packed(box) {
  box.packed = box.querySelector("script").textContent;
  const near = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && unpack(box), { rootMargin: "1500px" });
  near.observe(box);
  const wanted = () => /^#row-/.test(location.hash) && unpack(box);
  addEventListener("hashchange", wanted);
  if (location.search) unpack(box);
  else wanted();
}

// A link to a row leads to it even where it is folded away or filtered out.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  for (let fold = target.closest("details"); fold !== null; fold = fold.parentElement.closest("details")) fold.open = true;
  target.querySelector(":scope > details")?.setAttribute("open", "");
  target.closest("tbody")?.unfold?.();
  if (target.hidden) document.querySelectorAll("form.filters").forEach((bar) => bar.reset());
  setTimeout(() => target.scrollIntoView({ block: "center" }));
}

// A link to a word says what it means when it is pointed at or reached by keyboard.
function explain(event) {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link || link.title) return;
  const meaning = document.getElementById(decodeURIComponent(link.hash.slice(1)))?.querySelector(":scope > dd");
  if (meaning) link.title = meaning.textContent;
}

// Sorting last: it makes buttons of the headings that the others read.
document.querySelectorAll("table.text").forEach(labelled);
document.querySelectorAll("table.sortable").forEach(sortable);
document.querySelectorAll("table.runs").forEach(runs);
document.querySelectorAll(".packed").forEach(packed);
for (const kind of ["pointerover", "focusin"]) addEventListener(kind, explain);
addEventListener("hashchange", reveal);
if (location.hash) reveal();

// Charts: exact figures under the pointer and by keyboard, buttons that switch algorithms on and off, and the choice of
// two to compare. Without JavaScript every mark has its figures as a tool tip, and all of them are in descriptions.
{
  const marks = (chart) => [...chart.querySelectorAll(".m:not([hidden])")].filter((mark) => !mark.classList.contains("off"));

  // One box for the figures of whatever is pointed at or has the focus.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("aria-hidden", "true"); // the mark itself has the same text as its name
  tip.hidden = true;
  document.body.append(tip);
  let told = null;
  const hide = () => {
    told?.classList.remove("told");
    told = null;
    tip.hidden = true;
  };
  const tell = (mark, x, y) => {
    if (told !== mark) {
      hide();
      told = mark;
      mark.classList.add("told");
      tip.textContent = mark.getAttribute("aria-label");
    }
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, document.documentElement.clientWidth - box.width - 4))}px`;
    tip.style.top = `${y + 16 + box.height > innerHeight ? y - box.height - 8 : y + 16}px`;
  };
  const tellFocused = (mark) => {
    const box = (mark.querySelector("circle, rect.bar, .name") ?? mark).getBoundingClientRect();
    tell(mark, box.left, box.bottom - 8);
  };
  const named = (mark) => {
    const title = mark.querySelector(":scope > title");
    if (title === null) return;
    mark.setAttribute("aria-label", title.textContent);
    title.remove(); // else the browser would show it as well
  };

  // A chart is one stop of the tab key; arrows go from mark to mark.
  for (const chart of document.querySelectorAll("svg.chart")) {
    const every = [...chart.querySelectorAll(".m")];
    if (every.length === 0) continue;
    every.forEach((mark) => {
      named(mark);
      mark.setAttribute("role", "img");
      mark.setAttribute("tabindex", "-1");
    });
    chart.setAttribute("role", "group");
    chart.setAttribute("tabindex", "0");
    chart.setAttribute("aria-label", `${chart.getAttribute("aria-label")} (arrow keys: figure by figure)`);
    chart.querySelector(":scope > desc")?.remove(); // its marks now say the same one by one
    chart.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
      const list = marks(chart);
      if (event.key === "Escape") hide();
      if (list.length === 0 || (step === undefined && event.key !== "Home" && event.key !== "End")) return;
      event.preventDefault();
      const at = list.indexOf(document.activeElement);
      const next = event.key === "Home" ? 0 : event.key === "End" ? list.length - 1
        : at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length;
      list[next].focus();
    });
    chart.addEventListener("focusin", (event) => {
      const mark = event.target.closest(".m");
      if (mark === null) hide();
      else tellFocused(mark);
    });
    chart.addEventListener("focusout", hide);
    chart.addEventListener("pointermove", (event) => {
      const mark = event.target.closest(".m");
      if (mark === null || mark.classList.contains("off")) hide();
      else tell(mark, event.clientX, event.clientY);
    });
    chart.addEventListener("pointerleave", hide);
  }
  addEventListener("scroll", hide, { passive: true });

  // Algorithms that are switched off stay so: the address says which.
  const owners = [...document.querySelectorAll("svg.chart [data-a]")];
  const names = [...new Set(owners.map((part) => part.dataset.a))];
  const parameters = () => new URLSearchParams(location.search);
  const off = new Set();
  const keep = (change) => {
    const asked = parameters();
    change(asked);
    const query = String(asked);
    try {
      history.replaceState(history.state, "", `${location.pathname}${query && `?${query}`}${location.hash}`);
    } catch {
      // A browser that keeps addresses of files as they are: the charts work, and are not remembered.
    }
  };
  if (names.length > 1) {
    const legend = document.createElement("details");
    legend.className = "legend";
    const summary = document.createElement("summary");
    const group = document.createElement("div");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Algorithms in the charts");
    const buttons = new Map();
    const show = () => {
      owners.forEach((part) => part.classList.toggle("off", off.has(part.dataset.a)));
      buttons.forEach((button, name) => button.setAttribute("aria-pressed", String(!off.has(name))));
      summary.textContent = `Algorithms in the charts: ${names.length - off.size} of ${names.length}`;
    };
    const add = (text, act) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => {
        act();
        show();
        keep((asked) => {
          asked.delete("off");
          off.forEach((each) => asked.append("off", each));
        });
      });
      group.append(button);
      return button;
    };
    names.forEach((name) => buttons.set(name, add(name, () => off.delete(name) || off.add(name))));
    add("all", () => off.clear()).className = "plain";
    add("none", () => names.forEach((name) => off.add(name))).className = "plain";
    const restore = () => {
      off.clear();
      names.filter((name) => parameters().getAll("off").includes(name)).forEach((name) => off.add(name));
      show();
    };
    legend.append(summary, group);
    (document.querySelector("nav") ?? document.querySelector("h1")).after(legend);
    restore();
    legend.open = off.size > 0;
    addEventListener("popstate", restore);
  }

  // Any two algorithms, case by case: the axes stay, the dots move.
  const source = document.getElementById("pairs");
  const figure = document.querySelector("figure.pair");
  if (source !== null && figure !== null) {
    const data = JSON.parse(source.textContent);
    const group = figure.querySelector(".dots");
    const ends = (axis) => group.dataset[axis].split(" ").map(Number);
    const [[left, right], [bottom, top]] = [ends("x"), ends("y")];
    const dots = [...group.children];
    const said = figure.querySelector(".said");
    const form = document.createElement("form");
    form.className = "choice";
    form.addEventListener("submit", (event) => event.preventDefault());
    const select = (letter, name) => {
      const label = document.createElement("label");
      const list = document.createElement("select");
      list.append(...data.algorithms.map((each) => new Option(each, each)));
      list.value = name;
      label.append(`${letter} `, list);
      form.append(label);
      return list;
    };
    const title = (letter) => figure.querySelector(`.name-${letter}`);
    const first = { a: title("a").textContent.slice(4), b: title("b").textContent.slice(4) };
    const lists = { a: select("A", first.a), b: select("B", first.b) };
    const words = (part) => (typeof part === "number" ? `${part} %` : part);
    const draw = () => {
      const [a, b] = [lists.a.value, lists.b.value];
      const [i, j] = [data.algorithms.indexOf(a), data.algorithms.indexOf(b)];
      title("a").textContent = `A \u2192 ${a}`;
      title("b").textContent = `B \u2191 ${b}`;
      const count = { a: 0, b: 0, equal: 0, edge: 0, missing: 0 };
      dots.forEach((dot, k) => {
        const pair = [data.parts[i][k], data.parts[j][k]];
        const [x, y] = pair.map((part) => (data.endless.includes(part) ? data.edge : part / 100));
        if (isNaN(x) || isNaN(y)) {
          dot.setAttribute("hidden", "");
          count.missing += 1;
          return;
        }
        dot.removeAttribute("hidden");
        dot.setAttribute("aria-label", `${data.cases[k]}: ${a} ${words(pair[0])}, ${b} ${words(pair[1])}`);
        const circle = dot.querySelector("circle");
        circle.setAttribute("cx", (left + (right - left) * x).toFixed(2));
        circle.setAttribute("cy", (bottom + (top - bottom) * y).toFixed(2));
        const order = data.ranks[i][k] - data.ranks[j][k];
        count[order < 0 ? "a" : order > 0 ? "b" : "equal"] += 1;
        count.edge += [x, y].includes(data.edge);
      });
      said.textContent =
        `${dots.length - count.missing} of ${dots.length} cases: A better on ${count.a}, B on ${count.b}, equal ${count.equal}` +
        (count.edge ? `; ${count.edge} at an edge (\u221e), where the ratio of one or both is unbounded, or may be` : "") +
        (count.missing ? `; ${count.missing} left out, without a figure of one or both.` : ".");
    };
    form.addEventListener("input", () => {
      hide();
      draw();
      keep((asked) => {
        asked.set("a", lists.a.value);
        asked.set("b", lists.b.value);
      });
    });
    const restore = () => {
      for (const [letter, list] of Object.entries(lists)) {
        const asked = parameters().get(letter);
        list.value = data.algorithms.includes(asked) ? asked : first[letter];
      }
      draw();
    };
    figure.querySelector("h3").after(form);
    restore();
    addEventListener("popstate", restore);
  }
}

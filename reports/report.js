"use strict";
// Shows one page at a time, draws its charts when it is first shown, sorts tables, and gives every chart's data.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const pages = all(".page");
  const started = new Set();

  const LAYOUT = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false,
    font: { family: "system-ui, sans-serif", size: 13 },
    margin: { l: 8, r: 16, t: 20, b: 44 },
    showlegend: false,
    hoverlabel: { bgcolor: "#FFFFFF", bordercolor: "#555555", font: { color: "#000000" } },
  };
  const NARROW = 480; // pixels, under which every other label of an axis is left out
  const AXIS = { zeroline: false, fixedrange: true, ticks: "outside", title: { standoff: 8 }, automargin: true };

  // What is packed is deflated and in base64.
  async function unpacked(identity) {
    const bytes = Uint8Array.from(atob(document.getElementById(identity).textContent), (each) => each.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
  }

  let plotly;
  function startPlotly() {
    plotly ??= unpacked("plotly").then((text) => {
      document.head.append(Object.assign(document.createElement("script"), { textContent: text }));
    });
    return plotly;
  }

  function draw(figure, chart) {
    const layout = { ...LAYOUT, ...chart.layout };
    for (const axis of ["xaxis", "yaxis"]) {
      const given = chart.layout[axis] || {};
      layout[axis] = { ...AXIS, ...given, title: { ...AXIS.title, ...given.title } };
    }
    const plot = figure.querySelector(".plot");
    if (plot.clientWidth < NARROW && layout.xaxis.ticktext) {
      layout.xaxis.ticktext = layout.xaxis.ticktext.map((text, i) => i % 2 ? "" : text);
    }
    return Plotly.newPlot(plot, chart.data, layout, { responsive: true, displayModeBar: false });
  }

  function show() {
    const wanted = decodeURIComponent(location.hash.slice(1));
    const place = wanted && document.getElementById(wanted);
    const page = (place && place.closest(".page")) || pages[0];
    for (const each of pages) each.classList.toggle("shown", each === page);
    for (const link of all("nav a")) {
      if (link.hash === "#" + (wanted || page.id)) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (place && place !== page) place.scrollIntoView();
    else scrollTo(0, 0);
    if (!started.has(page)) {
      started.add(page);
      fill(page);
    }
  }

  async function fill(page) {
    for (const table of all("table.sortable", page)) prepare(table);
    const figures = all("figure.chart", page);
    const texts = all("[data-text]", page);
    if (figures.length + texts.length) {
      const [data] = await Promise.all([unpacked("data-" + page.id), figures.length && startPlotly()]);
      const { charts, texts: known } = JSON.parse(data);
      for (const each of texts) each.textContent = known[each.dataset.text];
      for (const figure of figures) {
        const chart = charts[figure.dataset.chart];
        offerData(figure.querySelector(".data"), page.id + "-" + figure.dataset.chart, () => chart, true);
        await draw(figure, chart);
      }
    }
    page.dataset.ready = "";
  }

  // Tables

  function prepare(table) {
    const names = all("thead th", table).map((heading) => heading.textContent);
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, column) => { cell.dataset.label = names[column]; });
    }
    all("thead th", table).forEach((heading, column) => {
      heading.querySelector("button").addEventListener("click", () => sort(table, heading, column));
    });
    offerData(table.parentElement.querySelector(".data"), table.dataset.name, () => ({
      columns: names,
      rows: all("tbody tr", table).map((row) => [...row.cells].map(valueOf)),
    }), false);
  }

  function valueOf(cell) {
    const value = cell.dataset.value ?? cell.textContent;
    return value !== "" && isFinite(value) ? Number(value) : value;
  }

  function sort(table, heading, column) {
    const numeric = heading.classList.contains("number");
    const was = heading.getAttribute("aria-sort");
    const down = was ? was === "ascending" : numeric;
    for (const each of all("th[aria-sort]", table)) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = all("tbody tr", table).map((row) => [valueOf(row.cells[column]), row]);
    rows.sort(([a], [b]) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    if (down) rows.reverse();
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  // Data

  function offerData(place, name, data, viewable) {
    const button = (text, act) => {
      const made = document.createElement("button");
      made.type = "button";
      made.textContent = text;
      made.addEventListener("click", act);
      place.append(made);
      return made;
    };
    if (viewable) {
      const toggle = button("Show data", () => {
        const shown = place.querySelector(".table");
        if (shown) shown.remove();
        else place.append(tableOf(data()));
        toggle.textContent = shown ? "Show data" : "Hide data";
        toggle.setAttribute("aria-expanded", String(!shown));
      });
      toggle.setAttribute("aria-expanded", "false");
    }
    button("CSV", () => save(name + ".csv", "text/csv", csv(data())));
    button("JSON", () => {
      const { columns, rows } = data();
      const records = rows.map((row) => Object.fromEntries(row.map((cell, i) => [columns[i], cell])));
      save(name + ".json", "application/json", JSON.stringify(records, null, 1));
    });
  }

  function tableOf({ columns, rows }) {
    const frame = document.createElement("div");
    frame.className = "table";
    const table = frame.appendChild(document.createElement("table"));
    const head = table.createTHead().insertRow();
    for (const column of columns) {
      head.append(Object.assign(document.createElement("th"), { textContent: column, scope: "col" }));
    }
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      row.forEach((cell, i) => {
        const made = line.insertCell();
        made.textContent = cell ?? "";
        made.dataset.label = columns[i];
        if (typeof cell === "number") made.className = "number";
      });
    }
    return frame;
  }

  function csv({ columns, rows }) {
    const quoted = (cell) => {
      const text = cell === null || cell === undefined ? "" : String(cell);
      return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
    };
    return [columns, ...rows].map((row) => row.map(quoted).join(",") + "\n").join("");
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // Around the pages

  const root = document.documentElement;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const find = document.getElementById("find");
  if (find) {
    find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      for (const entry of all("#views li")) entry.hidden = !entry.textContent.toLowerCase().includes(wanted);
    });
  }

  addEventListener("hashchange", show);
  show();
})();

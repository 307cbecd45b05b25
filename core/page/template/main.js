// The page: the parts of the report on the left, and the chosen one on the right. The address has the part's number.

function showChecks(section) {
  return [
    makeLongTable(null, ["", "check", "expected", "got"],
      section.rows.map((row) => [row.passed ? "pass" : "FAIL", row.name, row.expected, row.got]), 200, section.title),
    section.reproduce ? make("p", {}, "Reproduce: ", make("code", {}, section.reproduce)) : null,
  ];
}

function showTable(section) {
  return [section.about ? make("p", {}, section.about) : null, makeLongTable(null, section.columns, section.rows, 100, section.title)];
}

function showText(section) {
  return [make("pre", { tabindex: "0", "aria-label": section.title }, section.text)];
}

const shows = {
  checks: showChecks, table: showTable, text: showText, mesh: showMesh, shardings: showShardings, memory: showMemory,
  timeline: showTimeline, failure: showFailure, fault: showFault, matrices: showMatrices,
};

function showSection(section, id) {
  const show = shows[section.kind];
  return make("section", { "aria-labelledby": id, "data-kind": section.kind }, make("h3", { id }, section.title),
    show ? show(section) : make("p", {}, `This page has no drawing for '${section.kind}'.`));
}

function showEntry(entry) {
  const figures = (entry.figures ?? []).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, isNumber(value) ? digits(value) : value)));
  return [
    make("h2", {}, entry.name),
    make("p", {}, verdict(entry.passed), entry.title ? ` ${entry.title}` : ""),
    figures.length ? make("dl", { class: "figures" }, figures) : null,
    ...entry.sections.map((section, i) => showSection(section, `section-${i}`)),
  ];
}

function showOverview(data) {
  const rows = data.entries.map((entry, i) => make("tr", {}, make("td", {}, verdict(entry.passed)),
    make("td", {}, make("a", { href: `#${i}` }, entry.name)), make("td", {}, entry.title ?? "")));
  return [
    make("h2", {}, "Overview"),
    data.command ? make("p", {}, "Made by ", make("code", {}, data.command)) : null,
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "all parts" },
      make("table", {}, make("thead", {}, make("tr", {}, ["", "part", "about"].map((name) => make("th", { scope: "col" }, name)))),
        make("tbody", {}, rows))),
  ];
}

function startThemes() {
  const button = document.getElementById("theme");
  const themes = [["", "as the system"], ["light", "light"], ["dark", "dark"]];
  let at = 0;
  const choose = (i) => {
    at = i;
    if (themes[at][0]) document.documentElement.dataset.theme = themes[at][0];
    else delete document.documentElement.dataset.theme;
    button.textContent = `Theme: ${themes[at][1]}`;
    document.dispatchEvent(new Event("themechange"));
  };
  button.addEventListener("click", () => choose((at + 1) % themes.length));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("themechange")));
}

function startEntries(data) {
  const list = make("ul", {});
  const links = data.entries.map((entry, i) => make("a", { href: `#${i}` }, verdict(entry.passed), make("span", {}, entry.name)));
  const overview = make("a", { href: "#overview" }, "Overview");
  const filter = make("input", {
    type: "search", placeholder: "filter", "aria-label": "Filter the parts",
    input: () => {
      const words = filter.value.toLowerCase();
      links.forEach((link, i) => {
        const entry = data.entries[i];
        link.parentElement.hidden = !`${entry.name} ${entry.title ?? ""} ${entry.passed ? "pass" : "FAIL"}`.toLowerCase().includes(words);
      });
    },
  });
  list.append(make("li", {}, overview), ...links.map((link) => make("li", {}, link)));
  document.getElementById("entries").append(filter, list);
  return { links, overview };
}

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  document.getElementById("summary").append(verdict(data.passed), ` ${data.summary}`);
  startThemes();
  const { links, overview } = startEntries(data);
  const isSingle = data.entries.length === 1;
  document.getElementById("columns").classList.toggle("single", isSingle);
  const firstFailing = data.entries.findIndex((entry) => !entry.passed);
  const show = (moves) => {
    if (location.hash === "#main") return;
    let number = Number.parseInt(location.hash.slice(1), 10);
    if (!(number >= 0 && number < data.entries.length)) number = isSingle ? 0 : location.hash || firstFailing < 0 ? -1 : firstFailing;
    [overview, ...links].forEach((link, i) => {
      if (i === number + 1) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    });
    main.replaceChildren(...(number < 0 ? showOverview(data) : showEntry(data.entries[number])).filter(Boolean));
    if (moves) main.focus();
    if (moves) window.scrollTo(0, 0);
  };
  window.addEventListener("hashchange", () => show(true));
  show(false);
}

start();

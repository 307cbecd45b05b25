// Elements are made by functions, and all text is text: no string of the data is read as markup.

const svgSpace = "http://www.w3.org/2000/svg";

// Adds attributes and children to an element. A function is an event's listener, and false or null leaves out.
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function make(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function makeSvg(tag, attributes, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

// Tells screen readers of a change.
function say(words) {
  document.getElementById("said").textContent = words;
}

// Numbers have a thin space between thousands.
function digits(number) {
  const whole = Number.isInteger(number) ? String(number) : String(Math.round(number * 1000) / 1000);
  const [before, after] = whole.split(".");
  const spaced = before.replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009");
  return after ? `${spaced}.${after}` : spaced;
}

function bytesText(bytes) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (bytes >= 10000 && unit + 1 < units.length) {
    bytes /= 1024;
    ++unit;
  }
  return `${digits(unit ? Math.round(bytes * 10) / 10 : bytes)} ${units[unit]}`;
}

function verdict(passed) {
  return make("span", { class: passed ? "pass" : "fail" }, passed ? "pass" : "FAIL");
}

function isNumber(value) {
  return typeof value === "number";
}

// Returns a table. A column is a name, or an object with a name.
function makeTable(caption, columns, rows, name) {
  const isNumeric = columns.map((_, i) => rows.length > 0 && rows.every((row) => isNumber(row[i]) || row[i] === null));
  const cell = (value, i) => {
    if (value === "pass" || value === "FAIL") return make("td", {}, verdict(value === "pass"));
    if (value === null || value === undefined) return make("td", { class: isNumeric[i] ? "number" : null }, "");
    return make("td", { class: isNumeric[i] ? "number" : null }, isNumber(value) ? digits(value) : value);
  };
  const head = columns.map((column, i) => make("th", { scope: "col", class: isNumeric[i] ? "number" : null }, column));
  return make(
    "div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name ?? caption },
    make(
      "table", {},
      caption ? make("caption", {}, caption) : null,
      make("thead", {}, make("tr", {}, head)),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell)))),
    ),
  );
}

// Returns a table of which at most so many rows are shown until the others are asked for.
function makeLongTable(caption, columns, rows, shown = 100, name = caption) {
  if (rows.length <= shown) return makeTable(caption, columns, rows, name);
  const place = make("div", {}, makeTable(caption, columns, rows.slice(0, shown), name));
  const all = make("button", { type: "button" }, `Show all ${digits(rows.length)} rows`);
  all.addEventListener("click", () => place.replaceChildren(makeTable(caption, columns, rows, name)));
  place.append(make("p", {}, all));
  return place;
}

// Returns controls that step through pictures, by buttons, by a list and by the arrow keys.
// draw(i) returns the element of picture i.
function makeSteps(name, titles, draw) {
  let at = 0;
  const place = make("div", {});
  const back = make("button", { type: "button", "aria-label": `Previous: ${name}` }, "\u2190 Back");
  const on = make("button", { type: "button", "aria-label": `Next: ${name}` }, "Next \u2192");
  const list = make(
    "select", { "aria-label": name },
    titles.map((title, i) => make("option", { value: i }, titles.length > 1 ? `${i + 1}. ${title}` : title)),
  );
  const show = (i, tells) => {
    at = Math.max(0, Math.min(titles.length - 1, i));
    list.value = String(at);
    back.disabled = at === 0;
    on.disabled = at + 1 === titles.length;
    place.replaceChildren(draw(at));
    if (tells) say(`${name}, ${at + 1} of ${titles.length}: ${titles[at]}`);
  };
  back.addEventListener("click", () => show(at - 1, true));
  on.addEventListener("click", () => show(at + 1, true));
  list.addEventListener("change", () => show(Number(list.value), true));
  const steps = make("div", {
    class: "steps", role: "group", "aria-label": name, tabindex: "0",
    keydown: (event) => {
      if (event.target === list) return;
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by || event.target.closest(".scroll")) return;
      event.preventDefault();
      show(at + by, true);
    },
  }, make("div", { class: "row" }, back, list, on, make("span", { class: "dim" }, titles.length > 1 ? "or the arrow keys" : "")), place);
  show(0, false);
  return steps;
}

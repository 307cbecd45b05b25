// A failed run: what came to an end, and what each rank was doing, with the line of its program.

const doings = /^ {2}((?:deputy \d+ of )?rank \d+(?:, thread [^:]*)?): (waited in|had returned|failed:|could have run) ?(.*)$/;
const placeAtEnd = /(?:, |\()([^,()\s][^,()]*\.\w+:\d+)\)?$/;

function readFailure(text) {
  const lines = text.split("\n");
  const ranks = [], notes = [];
  for (const line of lines) {
    const found = doings.exec(line);
    if (found) {
      const place = placeAtEnd.exec(found[3]);
      ranks.push([found[1], found[2].replace(":", ""), place ? found[3].slice(0, place.index) : found[3], place ? place[1] : ""]);
    } else if (/^ {2}(cycle|chain|first call that differs|rank \d+ waits for any)/.test(line)) {
      notes.push(line.trim());
    }
  }
  return { message: lines[0], ranks, notes };
}

function showFailure(section) {
  const found = readFailure(section.text);
  return [
    make("p", { class: "fail" }, found.message),
    found.notes.length ? make("ul", {}, found.notes.map((note) => make("li", {}, note))) : null,
    found.ranks.length ? makeLongTable("What each rank was doing", ["rank", "state", "operation", "line"], found.ranks) : null,
    make("details", { open: found.ranks.length === 0 }, make("summary", {}, "The whole report as text"), make("pre", { tabindex: "0" }, section.text)),
  ];
}

// The first element that differs, with its surroundings in both tensors.
function makeValues(title, values, differs) {
  const columns = Math.max(...values.rows.map((row) => row.length));
  const head = Array.from({ length: columns }, (_, i) => make("th", { scope: "col" }, String((values.first_column ?? 0) + i)));
  const rows = values.rows.map((row, i) => make("tr", {},
    make("th", { scope: "row" }, String((values.first_row ?? 0) + i)),
    row.map((value, j) => make("td", { class: differs(i, j) ? "differs" : null }, String(value)))));
  return make("div", {}, make("h4", {}, title, values.about ? make("span", { class: "dim" }, ` ${values.about}`) : null),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
      make("table", { class: "values" }, make("thead", {}, make("tr", {}, make("td", { style: "border:0" }), head)), make("tbody", {}, rows))));
}

function showFault(section) {
  const parts = [];
  if (section.where) parts.push(make("p", {}, section.where));
  if (section.facts?.length) parts.push(makeTable(null, ["fact", "value"], section.facts, "facts"));
  const { expected, got } = section;
  if (expected?.rows && got?.rows) {
    const differs = (i, j) => String(expected.rows[i]?.[j]) !== String(got.rows[i]?.[j]);
    parts.push(make("div", { class: "pair" }, makeValues("expected", expected, differs), makeValues("got", got, differs)));
    parts.push(make("p", { class: "dim" }, "Elements that differ are bold and shaded."));
  } else if (expected !== undefined) {
    parts.push(makeTable(null, ["", "value"], [["expected", String(expected)], ["got", String(got)]], "expected and got"));
  }
  return parts;
}

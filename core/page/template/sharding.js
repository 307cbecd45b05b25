// Shardings of tensors as pictures: a cell is a part of the tensor, with the coordinates of the ranks that hold it.
// Beside the picture, a table has the same as text.

const panelWidth = 460, panelHeight = 200, cellMin = 24;

function rangeText([begin, length]) {
  return `${begin}:${begin + length}`;
}

// Gives segments places in proportion to their lengths, none smaller than a least size.
function stretches(segments, total, least) {
  if (!segments) return [{ begin: 0, length: 2 * least }];
  const size = segments.reduce((all, segment) => all + segment[1], 0);
  let begin = 0;
  return segments.map((segment) => {
    const length = Math.max(least, Math.round((segment[1] / size) * total));
    begin += length;
    return { begin: begin - length, length };
  });
}

function drawPanel(grid, first, titles) {
  const dims = grid.segments.length;
  const label = Math.max(...grid.pieces.map((piece) => piece.length));
  const columns = stretches(dims > 0 ? grid.segments[dims - 1] : null, panelWidth, label * 7 + 14);
  const rows = stretches(dims > 1 ? grid.segments[dims - 2] : null, panelHeight, cellMin);
  const left = dims > 1 ? 80 : 8, top = dims > 0 ? 24 : 8;
  const parts = [];
  const text = (x, y, words) => parts.push(makeSvg("text", { x, y: y + 4, "text-anchor": "middle" }, words));
  columns.forEach((column, i) => {
    if (dims > 0) text(left + column.begin + column.length / 2, 12, rangeText(grid.segments[dims - 1][i]));
  });
  let cell = first;
  rows.forEach((row, i) => {
    if (dims > 1) text(left / 2, top + row.begin + row.length / 2, rangeText(grid.segments[dims - 2][i]));
    for (const column of columns) {
      const piece = grid.cells[cell++];
      parts.push(makeSvg("rect", {
        x: left + column.begin, y: top + row.begin, width: column.length, height: row.length,
        style: `fill: ${colour(piece)}; fill-opacity: .28; stroke: ${colour(piece)}`,
        "stroke-dasharray": grid.partial ? "5 3" : null,
      }));
      text(left + column.begin + column.length / 2, top + row.begin + row.length / 2, grid.pieces[piece]);
    }
  });
  const lastRow = rows[rows.length - 1], lastColumn = columns[columns.length - 1];
  const width = left + lastColumn.begin + lastColumn.length + 8, height = top + lastRow.begin + lastRow.length + 8;
  return [makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": titles }, parts), cell];
}

// The rows of the table beside a picture: each cell's ranges and the ranks that hold it.
function cellRows(grid) {
  const counts = grid.segments.map((segments) => segments.length);
  const step = strides(counts);
  return grid.cells.map((piece, cell) => [
    ...grid.segments.map((segments, dim) => rangeText(segments[Math.floor(cell / step[dim]) % counts[dim]])),
    grid.pieces[piece],
  ]);
}

function drawSharding(step) {
  const parts = [make("p", {}, make("strong", {}, step.title), step.caption ? `: ${step.caption}` : "")];
  const grid = step.grid;
  if (grid && grid.cells.length) {
    const panels = grid.segments.slice(0, -2).reduce((all, segments) => all * segments.length, 1);
    for (let panel = 0, cell = 0; panel < panels; ++panel) {
      const [picture, next] = drawPanel(grid, cell, `${step.title}: ${grid.legend.join("; ")}`);
      cell = next;
      parts.push(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "picture of the sharding" }, picture));
    }
  }
  if (grid) {
    parts.push(make("ul", {}, grid.legend.map((line) => make("li", {}, line))));
    if (grid.empty.length) parts.push(make("p", {}, `Nothing is held by ${grid.empty.join(" ")}.`));
    if (grid.cells.length)
      parts.push(make("details", {}, make("summary", {}, "The picture as a table"),
        makeLongTable("Parts of the tensor and the coordinates of the ranks that hold them",
          [...grid.segments.map((_, dim) => `indices of dim ${dim}`), "ranks"], cellRows(grid), 60)));
  }
  return make("div", {}, parts);
}

function showShardings(section) {
  const groups = section.groups;
  const place = make("div", {});
  const list = make("select", { "aria-label": `${section.title}: tensor` },
    groups.map((group, i) => make("option", { value: i }, group.title)));
  const show = () => {
    const group = groups[Number(list.value)];
    place.replaceChildren(makeSteps(`Steps of ${group.title}`, group.steps.map((step) => step.title), (i) => drawSharding(group.steps[i])));
  };
  list.addEventListener("change", show);
  show();
  return [section.about ? make("p", {}, section.about) : null,
    groups.length > 1 ? make("p", { class: "row" }, list) : make("p", {}, groups[0].title), place];
}

// A matrix of numbers as shades, such as the bytes that each rank sends to each; the table beside has the numbers.

function drawMatrix(matrix) {
  const most = Math.max(1, ...matrix.cells.flat());
  const side = Math.max(8, Math.min(28, 420 / matrix.members.length)), left = 64;
  const parts = [];
  matrix.cells.forEach((row, i) => {
    if (side > 11 || i % 8 === 0) {
      parts.push(makeSvg("text", { x: left - 6, y: left + side * (i + 0.5) + 4, "text-anchor": "end" }, matrix.members[i]));
      parts.push(makeSvg("text", { x: left + side * (i + 0.5), y: left - 8, "text-anchor": "middle" }, matrix.members[i]));
    }
    row.forEach((value, j) => parts.push(makeSvg("rect", {
      x: left + side * j, y: left + side * i, width: side - 1, height: side - 1,
      style: `fill: var(--c0); fill-opacity: ${(0.06 + 0.94 * (value / most)).toFixed(3)}`,
    }, makeSvg("title", {}, `${matrix.members[i]} to ${matrix.members[j]}: ${digits(value)} ${matrix.unit}`))));
  });
  const size = left + side * matrix.cells.length + 8;
  const rows = matrix.cells.map((row, i) => [matrix.members[i], ...row]);
  return make("div", {}, make("p", {}, matrix.caption ?? ""),
    makeSvg("svg", { width: size, height: size, viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `${matrix.title}; the table below has the numbers` }, parts),
    make("details", {}, make("summary", {}, "The picture as a table"), makeTable(matrix.title, ["from", ...matrix.members.map((name) => `to ${name}`)], rows)));
}

function showMatrices(section) {
  return [makeSteps(section.title, section.matrices.map((matrix) => matrix.title), (i) => drawMatrix(section.matrices[i]))];
}

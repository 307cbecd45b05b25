// Memory over time, by category: stacked areas, or lines where the curves aren't parts of a whole.

const curveWidth = 900, curveHeight = 190, curveLeft = 92;

function drawCurves(section, curve) {
  const { at, bytes } = curve;
  const sums = at.map((_, i) => bytes.reduce((all, category) => all + category[i], 0));
  const tops = section.stacked ? sums : at.map((_, i) => Math.max(...bytes.map((category) => category[i])));
  const most = Math.max(1, ...tops), last = Math.max(1, at[at.length - 1]);
  const x = (value) => (curveLeft + (value / last) * curveWidth).toFixed(1);
  const y = (value) => (10 + (1 - value / most) * curveHeight).toFixed(1);
  const parts = [];
  for (let tick = 0; tick <= 4; ++tick) {
    const value = (most * tick) / 4;
    parts.push(makeSvg("line", { x1: curveLeft, x2: curveLeft + curveWidth, y1: y(value), y2: y(value), style: "stroke: var(--line)" }));
    parts.push(makeSvg("text", { x: curveLeft - 6, y: Number(y(value)) + 4, "text-anchor": "end" }, bytesText(Math.round(value))));
  }
  let below = at.map(() => 0);
  bytes.forEach((category, number) => {
    const above = section.stacked ? category.map((value, i) => value + below[i]) : category;
    if (Math.max(...category) > 0) {
      const edge = at.map((value, i) => `${x(value)},${y(above[i])}`);
      const back = at.map((value, i) => `${x(value)},${y(below[i])}`).reverse();
      parts.push(section.stacked
        ? makeSvg("polygon", { points: [...edge, ...back].join(" "), style: `fill: ${colour(number)}; fill-opacity: .6; stroke: ${colour(number)}` })
        : makeSvg("polyline", { points: edge.join(" "), style: `fill: none; stroke: ${colour(number)}; stroke-width: 1.5` }));
    }
    if (section.stacked) below = above;
  });
  parts.push(makeSvg("text", { x: curveLeft, y: curveHeight + 28 }, `${section.unit} 0`));
  parts.push(makeSvg("text", { x: curveLeft + curveWidth, y: curveHeight + 28, "text-anchor": "end" }, `${section.unit} ${digits(last)}`));
  const width = curveLeft + curveWidth + 12, height = curveHeight + 36;
  const peak = sums.indexOf(Math.max(...sums));
  const rows = section.categories.map((category, i) => [category, Math.max(...bytes[i]), bytes[i][peak], bytes[i][at.length - 1]]);
  if (section.stacked) rows.push(["all", sums[peak], sums[peak], sums[at.length - 1]]);
  return make(
    "div", {},
    make("p", {}, section.categories.map((category, i) => Math.max(...bytes[i]) > 0
      ? make("span", {}, make("span", { class: "key", style: `background: ${colour(i)}` }), category) : null)),
    makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${curve.title}: bytes over ${section.unit}s; the table below has the peaks` }, parts),
    makeTable(`Bytes, ${curve.title}`, ["category", "most", section.stacked ? "at the peak of all" : "at the highest sum", "at the end"], rows.filter((row) => row[1] > 0)),
  );
}

function showMemory(section) {
  return [makeSteps("Memory", section.curves.map((curve) => curve.title), (i) => drawCurves(section, section.curves[i]))];
}

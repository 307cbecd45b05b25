// The mesh as a table of ranks: the last dim has the columns, and the dims before it the rows. One picture for
// each dim has the groups along it, each in a colour of its own.

const meshRanksMax = 4096;

function strides(shape) {
  const result = new Array(shape.length).fill(1);
  for (let dim = shape.length - 2; dim >= 0; --dim) result[dim] = result[dim + 1] * shape[dim + 1];
  return result;
}

function colour(i) {
  return `var(--c${i % 8})`;
}

function drawMesh(section, along) {
  const { shape, names } = section;
  const columns = shape.length ? shape[shape.length - 1] : 1;
  const ranks = shape.reduce((all, size) => all * size, 1);
  const step = strides(shape);
  const groupOf = (rank) => {
    const inner = rank % step[along];
    return Math.floor(rank / (step[along] * shape[along])) * step[along] + inner;
  };
  const coordinate = (rank) => shape.map((size, dim) => Math.floor(rank / step[dim]) % size);
  const rows = [];
  for (let first = 0; first < ranks; first += columns) {
    const where = coordinate(first).slice(0, -1).map((at, dim) => `${names[dim]} ${at}`).join(", ");
    const cells = [];
    for (let rank = first; rank < first + columns; ++rank)
      cells.push(make("td", {
        style: `border: 2px solid ${colour(groupOf(rank))}`,
        title: `rank ${rank}, [${coordinate(rank).join(", ")}], group ${groupOf(rank)} along ${names[along]}`,
      }, String(rank)));
    rows.push(make("tr", {}, make("th", { scope: "row" }, where), cells));
  }
  const head = Array.from({ length: columns }, (_, i) => make("th", { scope: "col" }, `${names[shape.length - 1]} ${i}`));
  const members = Array.from({ length: shape[along] }, (_, i) => i * step[along]);
  const groups = ranks / shape[along];
  return make(
    "div", {},
    make("p", {}, `${digits(groups)} ${groups === 1 ? "group" : "groups"} of ${digits(shape[along])} ` +
      `${shape[along] === 1 ? "rank" : "ranks"} along ${names[along]}; the first is ` +
      `[${members.slice(0, 16).join(", ")}${members.length > 16 ? ", ..." : ""}]. A colour is a group.`),
    section.uses?.[names[along]] ? make("p", {}, `Used for: ${section.uses[names[along]]}.`) : null,
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `ranks of the mesh, groups along ${names[along]}` },
      make("table", { class: "mesh" }, make("thead", {}, make("tr", {}, make("td", { style: "border:0" }), head)), make("tbody", {}, rows))),
  );
}

function showMesh(section) {
  const ranks = section.shape.reduce((all, size) => all * size, 1);
  const words = section.names.map((name, dim) => `${name} ${digits(section.shape[dim])}`).join(", ");
  const about = make("p", {}, `${digits(ranks)} ${ranks === 1 ? "rank" : "ranks"}: ${words}`);
  if (ranks > meshRanksMax) return [about];
  return [about, makeSteps("Groups of the mesh", section.names.map((name) => `along ${name}`), (dim) => drawMesh(section, dim))];
}

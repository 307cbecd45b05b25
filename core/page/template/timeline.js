// A timeline is drawn on a canvas, and only the rows that can be seen, so thousands of ranks open at once.
//
// The data has each span as three whole numbers: the gap since the end of the span before, the length, and the number
// of its label. Tracks with equal spans share them, and have begins of their own.

const rowHeight = 20, axisHeight = 22, trackLeft = 150, zoomStep = 1.6, tableRows = 60, boxHeight = 400;

function decodeSpans(encoded) {
  const count = encoded.length / 3;
  const begins = new Float64Array(count), ends = new Float64Array(count), labels = new Int32Array(count);
  let at = 0;
  for (let i = 0; i < count; ++i) {
    at += encoded[3 * i];
    begins[i] = at;
    at += encoded[3 * i + 1];
    ends[i] = at;
    labels[i] = encoded[3 * i + 2];
  }
  return { begins, ends, labels, count, end: at };
}

class Timeline {
  constructor(section) {
    this.section = section;
    this.scale = section.unit === "us" ? 1000 : 1;
    this.shared = section.spans.map(decodeSpans);
    this.tracks = section.tracks;
    this.end = Math.max(1, ...this.tracks.map((track) => track.begin + this.shared[track.spans].end));
    this.view = { begin: 0, end: this.end };
    this.row = 0;
    this.chosen = -1;
    this.wanted = "";
    this.matching = new Uint8Array(section.labels.length);
    this.hues = section.labels.map(([name]) => this.hueOf(name));
    this.build();
  }

  hueOf(name) {
    let hash = 7;
    for (let i = 0; i < name.length; ++i) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
    return hash % 8;
  }

  build() {
    const button = (words, label, action) => make("button", { type: "button", "aria-label": label, click: action }, words);
    this.search = make("input", {
      type: "search", placeholder: "operation or line", "aria-label": "Search the timeline",
      input: () => this.find(this.search.value),
      keydown: (event) => {
        if (event.key === "Enter") this.goToMatch(event.shiftKey ? -1 : 1);
      },
    });
    this.matches = make("span", { class: "dim" });
    this.jump = make("input", {
      type: "number", min: 0, "aria-label": "Go to rank", placeholder: "rank", style: "width: 6em",
      change: () => this.goToRank(Number(this.jump.value)),
    });
    this.canvas = make("canvas", {});
    this.tall = make("div", { class: "tall" });
    this.tall.style.height = `${axisHeight + this.tracks.length * rowHeight}px`;
    this.box = make("div", {
      class: "timeline", tabindex: "0", role: "application",
      "aria-label": `${this.section.title}. Arrow keys choose a track and an operation, plus and minus zoom, Home shows everything`,
      keydown: (event) => this.key(event), scroll: () => this.paint(),
      click: (event) => this.click(event), wheel: (event) => this.wheel(event),
    }, this.tall, this.canvas);
    this.box.style.height = `${Math.min(boxHeight, axisHeight + this.tracks.length * rowHeight + 8)}px`;
    this.told = make("p", { role: "status", class: "told" }, "Choose an operation by a click or by the arrow keys.");
    this.table = make("div", {});
    this.details = make("details", { toggle: () => this.fillTable() }, make("summary", {}, "The chosen track as a table"), this.table);
    this.element = make(
      "div", {},
      make("p", {}, this.section.about ?? ""),
      make("div", { class: "row" },
        button("+", "Zoom in", () => this.zoom(zoomStep)), button("\u2212", "Zoom out", () => this.zoom(1 / zoomStep)),
        button("All", "Show the whole time", () => this.show(0, this.end)), this.search,
        button("\u2191", "Previous match", () => this.goToMatch(-1)), button("\u2193", "Next match", () => this.goToMatch(1)),
        this.matches, this.jump),
      this.box, this.told, this.details,
    );
    new ResizeObserver(() => this.paint()).observe(this.box);
    document.addEventListener("themechange", () => this.paint());
  }

  time(value) {
    return `${digits(value / this.scale)} ${this.section.unit}`;
  }

  // Returns the first span of a track that ends after a moment.
  firstAfter(spans, moment) {
    let low = 0, high = spans.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans.ends[middle] < moment) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  paint() {
    if (!this.box.isConnected || this.box.clientWidth === 0) return;
    const width = this.box.clientWidth, height = this.box.clientHeight, ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = value("--ground");
    context.fillRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const colours = Array.from({ length: 8 }, (_, i) => value(`--c${i}`));
    const top = this.box.scrollTop;
    const first = Math.max(0, Math.floor(top / rowHeight));
    const last = Math.min(this.tracks.length, Math.ceil((top + height) / rowHeight));
    for (let row = first; row < last; ++row)
      this.paintRow(context, row, axisHeight + row * rowHeight - top, width, colours, value);
    this.paintAxis(context, width, value);
  }

  x(moment, width) {
    return trackLeft + ((moment - this.view.begin) / (this.view.end - this.view.begin)) * (width - trackLeft - 8);
  }

  paintRow(context, row, y, width, colours, value) {
    const track = this.tracks[row], spans = this.shared[track.spans];
    if (row === this.row) {
      context.fillStyle = value("--raised");
      context.fillRect(0, y, width, rowHeight);
    }
    let painted = -1;
    for (let i = this.firstAfter(spans, this.view.begin - track.begin); i < spans.count; ++i) {
      const begin = this.x(track.begin + spans.begins[i], width);
      if (begin > width) break;
      const end = this.x(track.begin + spans.ends[i], width);
      const isFound = this.matching[spans.labels[i]] || (row === this.row && i === this.chosen);
      if (end < painted && !isFound) continue;
      const left = Math.max(begin, trackLeft), length = Math.max(1, end - left - 0.5);
      context.globalAlpha = this.wanted && !isFound ? 0.3 : 1;
      context.fillStyle = colours[this.hues[spans.labels[i]]];
      context.fillRect(left, y + 3, length, rowHeight - 6);
      context.globalAlpha = 1;
      if (isFound) {
        context.strokeStyle = value("--text");
        context.lineWidth = row === this.row && i === this.chosen ? 2 : 1;
        context.strokeRect(left, y + 2, length, rowHeight - 4);
      }
      if (length > 60) {
        context.save();
        context.beginPath();
        context.rect(left, y, length - 3, rowHeight);
        context.clip();
        context.fillStyle = value("--ground");
        context.fillText(this.section.labels[spans.labels[i]][0], left + 4, y + rowHeight / 2);
        context.restore();
      }
      painted = left + length;
    }
    context.fillStyle = value("--ground");
    context.fillRect(0, y, trackLeft - 1, rowHeight);
    context.fillStyle = row === this.row ? value("--accent") : value("--text");
    context.fillText(`${row === this.row ? "\u25b8 " : ""}rank ${track.rank}${track.name ? `, ${track.name}` : ""}`, 6, y + rowHeight / 2, trackLeft - 12);
  }

  paintAxis(context, width, value) {
    context.fillStyle = value("--raised");
    context.fillRect(0, 0, width, axisHeight);
    context.fillStyle = value("--text");
    for (let tick = 0; tick <= 5; ++tick) {
      const moment = this.view.begin + ((this.view.end - this.view.begin) * tick) / 5;
      context.textAlign = tick === 5 ? "right" : "left";
      context.fillText(this.time(Math.round(moment)), this.x(moment, width) + (tick === 5 ? 0 : 2), axisHeight / 2);
    }
    context.textAlign = "left";
  }

  show(begin, end) {
    const length = Math.min(this.end, Math.max(end - begin, Math.min(4, this.end)));
    const from = Math.max(0, Math.min(this.end - length, begin));
    this.view = { begin: from, end: from + length };
    this.paint();
  }

  zoom(factor, centre) {
    const { begin, end } = this.view;
    const middle = centre ?? this.momentOfChosen() ?? (begin + end) / 2;
    this.show(middle - (middle - begin) / factor, middle + (end - middle) / factor);
  }

  momentOfChosen() {
    if (this.chosen < 0) return null;
    const track = this.tracks[this.row];
    const moment = track.begin + this.shared[track.spans].begins[this.chosen];
    return moment >= this.view.begin && moment <= this.view.end ? moment : null;
  }

  choose(row, span) {
    this.row = Math.max(0, Math.min(this.tracks.length - 1, row));
    const track = this.tracks[this.row], spans = this.shared[track.spans];
    this.chosen = spans.count ? Math.max(0, Math.min(spans.count - 1, span)) : -1;
    const top = this.row * rowHeight, box = this.box;
    if (top < box.scrollTop) box.scrollTop = top;
    const seen = box.clientHeight - axisHeight - rowHeight;
    if (top > box.scrollTop + seen) box.scrollTop = top - seen;
    let words = `rank ${track.rank}${track.name ? `, ${track.name}` : ""}: no operations`;
    if (this.chosen >= 0) {
      const begin = track.begin + spans.begins[this.chosen], end = track.begin + spans.ends[this.chosen];
      if (end < this.view.begin || begin > this.view.end) {
        const half = (this.view.end - this.view.begin) / 2;
        this.show(begin - half, begin + half);
      }
      const [name, place] = this.section.labels[spans.labels[this.chosen]];
      words = `rank ${track.rank}${track.name ? `, ${track.name}` : ""}, operation ${this.chosen + 1} of ${spans.count}: ${name}` +
        `${place ? ` at ${place}` : ""}, from ${this.time(begin)}, for ${this.time(end - begin)}`;
    }
    this.told.textContent = words;
    this.fillTable();
    this.paint();
  }

  key(event) {
    if (event.target !== this.box) return;
    const pan = (this.view.end - this.view.begin) / 4;
    const spans = this.shared[this.tracks[this.row].spans];
    const moment = this.chosen >= 0 ? spans.begins[this.chosen] : this.view.begin;
    const toRow = (row) => {
      const bounded = Math.max(0, Math.min(this.tracks.length - 1, row));
      this.choose(bounded, this.firstAfter(this.shared[this.tracks[bounded].spans], moment));
    };
    const actions = {
      ArrowRight: () => (event.shiftKey ? this.show(this.view.begin + pan, this.view.end + pan) : this.choose(this.row, this.chosen + 1)),
      ArrowLeft: () => (event.shiftKey ? this.show(this.view.begin - pan, this.view.end - pan) : this.choose(this.row, this.chosen - 1)),
      ArrowDown: () => toRow(this.row + 1), ArrowUp: () => toRow(this.row - 1),
      PageDown: () => toRow(this.row + 16), PageUp: () => toRow(this.row - 16),
      "+": () => this.zoom(zoomStep), "=": () => this.zoom(zoomStep), "-": () => this.zoom(1 / zoomStep),
      Home: () => this.show(0, this.end), n: () => this.goToMatch(1), N: () => this.goToMatch(-1),
      "/": () => this.search.focus(),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  click(event) {
    const bounds = this.box.getBoundingClientRect();
    const y = event.clientY - bounds.top - axisHeight + this.box.scrollTop;
    const x = event.clientX - bounds.left, width = this.box.clientWidth;
    const row = Math.floor(y / rowHeight);
    if (row < 0 || row >= this.tracks.length || x < trackLeft) return;
    const share = (x - trackLeft) / (width - trackLeft - 8);
    const moment = this.view.begin + share * (this.view.end - this.view.begin);
    const track = this.tracks[row];
    this.choose(row, this.firstAfter(this.shared[track.spans], moment - track.begin));
  }

  wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const bounds = this.box.getBoundingClientRect();
    const share = (event.clientX - bounds.left - trackLeft) / (bounds.width - trackLeft - 8);
    this.zoom(event.deltaY < 0 ? zoomStep : 1 / zoomStep, this.view.begin + share * (this.view.end - this.view.begin));
  }

  find(words) {
    this.wanted = words.trim().toLowerCase();
    this.section.labels.forEach(([name, place], i) => {
      this.matching[i] = this.wanted && `${name} ${place ?? ""}`.toLowerCase().includes(this.wanted) ? 1 : 0;
    });
    const perShare = this.shared.map((spans) => spans.labels.reduce((all, label) => all + this.matching[label], 0));
    const count = this.tracks.reduce((all, track) => all + perShare[track.spans], 0);
    this.matches.textContent = this.wanted ? `${digits(count)} ${count === 1 ? "match" : "matches"}` : "";
    this.paint();
  }

  // Goes to the next span that matches, by track and then by time.
  goToMatch(by) {
    if (!this.wanted) return;
    let row = this.row, span = this.chosen + by;
    for (let passed = 0; passed <= this.tracks.length; ++passed) {
      const { labels, count } = this.shared[this.tracks[row].spans];
      for (; span >= 0 && span < count; span += by)
        if (this.matching[labels[span]]) {
          this.choose(row, span);
          return;
        }
      row = (row + by + this.tracks.length) % this.tracks.length;
      span = by > 0 ? 0 : this.shared[this.tracks[row].spans].count - 1;
    }
  }

  goToRank(rank) {
    const row = this.tracks.findIndex((track) => track.rank === rank);
    if (row < 0) {
      this.told.textContent = `There is no rank ${rank} in the timeline.`;
      return;
    }
    this.choose(row, 0);
  }

  fillTable() {
    if (!this.details.open) return;
    const track = this.tracks[this.row], spans = this.shared[track.spans];
    const rows = Array.from({ length: spans.count }, (_, i) => {
      const [name, place] = this.section.labels[spans.labels[i]];
      return [i + 1, name, place ?? "", (track.begin + spans.begins[i]) / this.scale, (spans.ends[i] - spans.begins[i]) / this.scale];
    });
    // The table begins a little before the chosen operation, so that it is among the rows that are shown.
    const first = Math.max(0, Math.min(this.chosen - 10, rows.length - tableRows));
    const shown = rows.slice(first, first + tableRows);
    const title = `rank ${track.rank}${track.name ? `, ${track.name}` : ""}`;
    const columns = ["operation", "name", "line", `begin (${this.section.unit})`, `length (${this.section.unit})`];
    this.table.replaceChildren(makeTable(`${title}: operations ${first + 1} to ${first + shown.length} of ${rows.length}`, columns, shown));
    if (shown.length < rows.length)
      this.table.append(make("button", { type: "button", click: () => this.table.replaceChildren(makeTable(title, columns, rows)) },
        `Show all ${digits(rows.length)} operations`));
  }
}

function showTimeline(section) {
  if (!section.tracks.length) return [make("p", {}, "No operations were recorded.")];
  return [new Timeline(section).element];
}

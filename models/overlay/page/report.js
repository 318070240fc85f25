"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const image = new Image();
const state = { caption: 0, word: 0, kind: data.kinds[0], place: null };
const kTile = 320;                 // long side of a small picture, in pixels
const kLargest = 1400;             // of the large one
const kUnfocused = 1.5;            // a peak lift below this looked nearly everywhere alike
const kNames = { cross: "attention", "gradcam": "Grad-CAM", "gradcam++": "Grad-CAM++", hirescam: "HiRes-CAM", ig: "integrated gradients" };

const caption = () => data.captions[state.caption];
const word = () => caption().words[state.word];
const mapOf = (w, kind) => w.maps.find(map => map.kind === kind);
const text = (tag, content, parent) => { const e = document.createElement(tag); e.textContent = content; if (parent) parent.append(e); return e; };
const percent = p => `${(100 * p).toFixed(p < 0.1 ? 1 : 0)} %`;
const number = v => Math.abs(v) >= 100 || v === 0 ? v.toFixed(0) : v.toPrecision(3);

function valueOf(map, raw) { return map.scale === "lift" ? raw * map.values.length : raw; }

function rangeOf(maps) {
  const usable = maps.filter(map => map.state === "normal");
  if (!usable.length) return [0, 1];
  let low = Infinity, high = -Infinity;
  for (const map of usable) for (const raw of map.values) { const v = valueOf(map, raw); low = Math.min(low, v); high = Math.max(high, v); }
  const unit = usable[0].scale;
  if (unit === "lift") return [1, Math.max(high, 2)];
  if (unit === "signed") { const most = Math.max(Math.abs(low), Math.abs(high)); return [-most, most]; }
  return unit === "positive" ? [0, Math.max(high, Number.MIN_VALUE)] : [low, high];
}

// Gradients are never on one scale for all words: those of a word that is sure are small.
function rangeFor(map, kind) {
  if (byId("scale").value === "own" || map.scale !== "lift") return rangeOf([map]);
  return rangeOf(caption().words.map(w => mapOf(w, kind)).filter(Boolean));
}

// The map at a place of the picture (its own pixels): bilinear with half-pixel centres, or the cell's value.
function sample(map, x, y, smooth) {
  const [a, b, c, d, e, f] = map.from_image;
  let column = a * x + b * y + c, row = d * x + e * y + f;
  const clamp = (v, n) => Math.min(n - 1, Math.max(0, Math.floor(v)));
  const at = (r, k) => map.values[r * map.cols + k];
  if (!smooth) return at(clamp(row, map.rows), clamp(column, map.cols));
  column -= 0.5; row -= 0.5;
  const fx = column - Math.floor(column), fy = row - Math.floor(row);
  const left = clamp(column, map.cols), right = clamp(column + 1, map.cols), top = clamp(row, map.rows), bottom = clamp(row + 1, map.rows);
  const upper = at(top, left) + fx * (at(top, right) - at(top, left)), lower = at(bottom, left) + fx * (at(bottom, right) - at(bottom, left));
  return upper + fy * (lower - upper);
}

const seen = (x, y) => x >= data.seen[0] && y >= data.seen[1] && x < data.seen[0] + data.seen[2] && y < data.seen[1] + data.seen[3];
const tables = {};
function tableOf(name) {
  if (!tables[name]) tables[name] = Array.from({ length: 256 }, (_, i) => [0, 2, 4].map(c => parseInt(data.colormaps[name].substr(6 * i + c, 2), 16)));
  return tables[name];
}
const colormapFor = map => map.scale === "signed" ? "blue_red" : byId("colormap").value;

// Strength 0..1 of a value, and its place among the colours.
function strengthOf(map, value, range) {
  const place = Math.min(1, Math.max(0, (value - range[0]) / (range[1] > range[0] ? range[1] - range[0] : 1)));
  return map.scale === "signed" ? [Math.abs(2 * place - 1), place] : [place, place];
}

function paint(canvas, map, range, side, options) {
  const scale = Math.min(1, side / Math.max(data.width, data.height));
  canvas.width = Math.max(1, Math.round(data.width * scale));
  canvas.height = Math.max(1, Math.round(data.height * scale));
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height), rgba = pixels.data;
  const table = tableOf(colormapFor(map)), field = new Float32Array(canvas.width * canvas.height);
  const sx = data.width / canvas.width, sy = data.height / canvas.height;
  for (let py = 0, i = 0; py < canvas.height; ++py) {
    for (let px = 0; px < canvas.width; ++px, ++i) {
      const x = (px + 0.5) * sx, y = (py + 0.5) * sy;
      if (!seen(x, y)) {
        const line = (px + py) % 12 < 2;
        for (let c = 0; c < 3; ++c) { const grey = 0.45 * rgba[4 * i + c] + 70; rgba[4 * i + c] = line ? (grey + 255) / 2 : grey; }
        continue;
      }
      if (map.state !== "normal") continue;
      const value = valueOf(map, sample(map, x, y, options.smooth));
      field[i] = Math.max(0, value);
      const [strength, place] = strengthOf(map, value, range), share = options.opacity * Math.sqrt(strength);
      if (share === 0) continue;
      const colour = table[Math.round(255 * place)];
      for (let c = 0; c < 3; ++c) rgba[4 * i + c] += share * (colour[c] - rgba[4 * i + c]);
    }
  }
  context.putImageData(pixels, 0, 0);
  if (map.state === "normal" && options.cells) drawCells(context, map, canvas, sx, sy);
  if (map.state === "normal" && options.contours) drawContours(context, field, canvas.width, canvas.height);
  if (map.state !== "normal") drawState(context, canvas, map.state);
}

// The least value of the smallest region that holds each share of the mass.
function massLevels(field, shares) {
  const sorted = Float32Array.from(field).sort();
  let sum = 0;
  for (const v of sorted) sum += v;
  return shares.map(share => {
    let held = 0, i = sorted.length;
    while (i > 0 && (held === 0 || held < share * sum)) held += sorted[--i];
    return held > 0 ? sorted[i] : Infinity;
  });
}

function drawContours(context, field, width, height) {
  const [outer, inner] = massLevels(field, [0.8, 0.5]);
  drawContour(context, field, width, height, outer, 1);
  drawContour(context, field, width, height, inner, 2);
}

function drawContour(context, field, width, height, level, line) {
  if (!isFinite(level)) return;
  const path = new Path2D();
  const at = (x, y) => x < 0 || y < 0 || x >= width || y >= height ? 0 : field[y * width + x];
  for (let y = -1; y < height; ++y) {
    for (let x = -1; x < width; ++x) {
      const corners = [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1]], points = [];
      for (let s = 0; s < 4; ++s) {
        const p = corners[s], q = corners[(s + 1) % 4], from = at(...p), to = at(...q);
        if ((from >= level) === (to >= level)) continue;
        const way = (level - from) / (to - from);
        points.push([p[0] + way * (q[0] - p[0]) + 0.5, p[1] + way * (q[1] - p[1]) + 0.5]);
      }
      for (let i = 0; i + 1 < points.length; i += 2) { path.moveTo(...points[i]); path.lineTo(...points[i + 1]); }
    }
  }
  context.lineCap = "round";
  context.strokeStyle = "#141414"; context.lineWidth = 2 * line + 1; context.stroke(path);
  context.strokeStyle = "#ffffff"; context.lineWidth = line; context.stroke(path);
}

function drawCells(context, map, canvas, sx, sy) {
  const [a, b, c, d, e, f] = map.from_image, det = a * e - b * d;
  const toCanvas = (column, row) => { const u = column - c, v = row - f; return [(e * u - b * v) / det / sx, (a * v - d * u) / det / sy]; };
  context.strokeStyle = "rgba(255, 255, 255, 0.5)"; context.lineWidth = 1;
  context.beginPath();
  for (let k = 0; k <= map.cols; ++k) { context.moveTo(...toCanvas(k, 0)); context.lineTo(...toCanvas(k, map.rows)); }
  for (let r = 0; r <= map.rows; ++r) { context.moveTo(...toCanvas(0, r)); context.lineTo(...toCanvas(map.cols, r)); }
  context.stroke();
}

function drawState(context, canvas, what) {
  const height = Math.max(16, canvas.height / 14);
  context.fillStyle = "#282828"; context.fillRect(0, canvas.height - 1.6 * height, canvas.width, 1.6 * height);
  context.fillStyle = "#ffffff"; context.font = `${0.8 * height}px system-ui, sans-serif`;
  context.fillText(data.states[what] || what, 0.5 * height, canvas.height - 0.5 * height, canvas.width - height);
}

const options = () => ({ opacity: Number(byId("opacity").value), smooth: byId("smooth").checked, contours: byId("contours").checked && state.kind !== "ig", cells: byId("cells").checked });

function ranks(values) {
  const order = values.map((v, i) => [v, i]).sort((p, q) => p[0] - q[0]), rank = new Array(values.length);
  for (let i = 0; i < order.length;) {
    let j = i;
    while (j < order.length && order[j][0] === order[i][0]) ++j;
    for (let k = i; k < j; ++k) rank[order[k][1]] = (i + j - 1) / 2;
    i = j;
  }
  return rank;
}
function spearman(a, b) {
  const x = ranks(a), y = ranks(b), n = x.length, mean = (n - 1) / 2;
  let xy = 0, xx = 0, yy = 0;
  for (let i = 0; i < n; ++i) { xy += (x[i] - mean) * (y[i] - mean); xx += (x[i] - mean) ** 2; yy += (y[i] - mean) ** 2; }
  return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : NaN;
}
// A map read at the middles of another's cells.
function onCellsOf(map, grid) {
  const [a, b, c, d, e, f] = grid.from_image, det = a * e - b * d, values = [];
  for (let r = 0; r < grid.rows; ++r) for (let k = 0; k < grid.cols; ++k) {
    const u = k + 0.5 - c, v = r + 0.5 - f;
    values.push(sample(map, (e * u - b * v) / det, (a * v - d * u) / det, map.values.length <= grid.values.length));
  }
  return values;
}

function showCaptions() {
  const box = byId("captions");
  box.replaceChildren();
  data.captions.forEach((one, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(i === state.caption));
    button.append(text("span", `${percent(Math.exp(one.log_probability))}  `), text("span", one.text));
    button.firstChild.className = "share";
    button.addEventListener("click", () => { state.caption = i; state.word = 0; showAll(); });
    box.append(button);
  });
  box.hidden = data.captions.length < 2;
}

function showWords() {
  const box = byId("words"), peak = Math.max(2, ...caption().words.map(w => w.peak_lift || 1));
  box.replaceChildren();
  caption().words.forEach((w, i) => {
    const button = text("button", w.text, box);
    button.type = "button";
    button.title = w.text;
    button.setAttribute("role", "option");
    button.setAttribute("aria-selected", String(i === state.word));
    button.style.setProperty("--shade", String(0.75 * Math.max(0, (w.peak_lift || 1) - 1) / (peak - 1)));
    if ((w.peak_lift || 1) < kUnfocused) { button.classList.add("unfocused"); button.setAttribute("aria-description", "no focus: looked nearly everywhere alike"); }
    text("small", percent(w.probability), button);
    button.addEventListener("click", () => choose(i));
    button.addEventListener("mouseenter", () => choose(i));
  });
}

function choose(i) {
  if (i === state.word || i < 0 || i >= caption().words.length) return;
  state.word = i;
  [...byId("words").children].forEach((button, k) => button.setAttribute("aria-selected", String(k === i)));
  showMap();
  showOthers();
}

function showMap() {
  const w = word();
  if (!w) { byId("picture").getContext("2d").drawImage(image, 0, 0); return; }
  const map = mapOf(w, state.kind), range = rangeFor(map, state.kind);
  paint(byId("picture"), map, range, kLargest, options());
  const unit = map.scale, name = kNames[state.kind] || state.kind;
  byId("low").textContent = unit === "lift" ? "1 = uniform" : number(range[0]);
  byId("high").textContent = unit === "lift" ? `${range[1].toFixed(1)} times` : number(range[1]);
  const bar = byId("bar").getContext("2d"), table = tableOf(colormapFor(map)), row = bar.createImageData(256, 1);
  table.forEach((colour, i) => row.data.set([...colour, 255], 4 * i));
  bar.putImageData(row, 0, 0);
  byId("status").textContent = `${w.text}: ${percent(w.probability)}, ${name}, ${map.rows} x ${map.cols} cells` + (w.peak_lift ? `, peak ${w.peak_lift.toFixed(1)} times even` : "") + (map.against > 0 ? `, ${percent(map.against)} of the map against the word` : "");
  byId("picture").setAttribute("aria-label", `${data.file}: ${name} of the word "${w.text}", strongest at ${placeText(map)}`);
}

// "37 % from the left, 52 % from the top" of the strongest cell.
function placeText(map) {
  const best = map.values.indexOf(Math.max(...map.values)), [a, b, c, d, e, f] = map.from_image, det = a * e - b * d;
  const u = best % map.cols + 0.5 - c, v = Math.floor(best / map.cols) + 0.5 - f;
  return `${percent((e * u - b * v) / det / data.width)} from the left and ${percent((a * v - d * u) / det / data.height)} from the top`;
}

function tile(parent, map, range, label, click) {
  const figure = document.createElement("figure"), canvas = document.createElement("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", label);
  paint(canvas, map, range, kTile, { ...options(), cells: false });
  if (click) canvas.addEventListener("click", click);
  figure.append(canvas);
  text("figcaption", label, figure);
  parent.append(figure);
}

function showOthers() {
  const box = byId("others"), w = word(), own = w && mapOf(w, "cross");
  box.replaceChildren();
  const others = w ? [...w.maps.filter(map => map.kind !== "cross"), ...data.gates] : [];
  byId("compare").hidden = others.length === 0;
  for (const map of others) {
    const rank = own && own.state === "normal" && map.state === "normal" ? spearman(own.values, onCellsOf(map, own)) : NaN;
    const name = map.label || kNames[map.kind] || map.kind;
    tile(box, map, map.label ? rangeOf([map]) : rangeFor(map, map.kind), `${name}: ${isNaN(rank) ? "no rank" : rank.toFixed(2)}`, map.label ? null : () => { state.kind = map.kind; byId("kind").value = map.kind; showAll(); });
  }
}

function showStrip() {
  const box = byId("tiles");
  box.replaceChildren();
  caption().words.forEach((w, i) => {
    const map = mapOf(w, state.kind);
    tile(box, map, rangeFor(map, state.kind), `${w.text}, ${percent(w.probability)}`, () => { choose(i); byId("picture").scrollIntoView({ block: "nearest" }); });
  });
}

function showNumbers() {
  const body = byId("rows");
  body.replaceChildren();
  for (const w of caption().words) {
    const row = document.createElement("tr");
    for (const content of [w.text, percent(w.probability), w.entropy === null ? "-" : w.entropy.toFixed(2), w.peak_lift === null ? "-" : w.peak_lift.toFixed(1)]) text("td", content, row);
    body.append(row);
  }
}

function showHere(x, y) {
  const list = byId("here");
  state.place = [x, y];
  list.replaceChildren();
  if (!seen(x, y)) { text("li", "the model did not see this place", list); return; }
  const found = caption().words.map(w => [w, mapOf(w, state.kind)]).filter(([, map]) => map && map.state === "normal").map(([w, map]) => [w.text, valueOf(map, sample(map, x, y, byId("smooth").checked)), map.scale]);
  found.sort((p, q) => q[1] - p[1]);
  for (const [said, value, unit] of found) text("span", unit === "lift" ? ` ${value.toFixed(1)} times even` : ` ${number(value)}`, text("li", said, list));
}

function showAll() { showCaptions(); showWords(); showMap(); showOthers(); showStrip(); showNumbers(); if (state.place) showHere(...state.place); }

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
const baseName = () => `${data.stem}__${String(state.word + 1).padStart(2, "0")}_${word() ? word().text.replace(/[^\p{L}\p{N}]+/gu, "_") : ""}__${state.kind}`;

function listen() {
  for (const kind of data.kinds) byId("kind").append(new Option(kNames[kind] || kind, kind));
  for (const name of Object.keys(data.colormaps)) if (name !== "blue_red") byId("colormap").append(new Option(name, name));
  byId("colormap").value = data.colormap;
  byId("kind").addEventListener("change", event => { state.kind = event.target.value; showAll(); });
  for (const id of ["colormap", "scale", "opacity", "smooth", "contours", "cells"]) byId(id).addEventListener("input", () => { showMap(); showOthers(); showStrip(); });
  byId("controls").addEventListener("submit", event => event.preventDefault());
  byId("picture").addEventListener("pointermove", event => {
    const box = byId("picture").getBoundingClientRect();
    showHere((event.clientX - box.left) / box.width * data.width, (event.clientY - box.top) / box.height * data.height);
  });
  document.addEventListener("keydown", event => {
    if (event.target.closest("select, input") || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    if (event.shiftKey) {
      const [x, y] = state.place || [data.width / 2, data.height / 2];
      showHere(Math.min(data.width - 1, Math.max(0, x + step[0] * data.width / 20)), Math.min(data.height - 1, Math.max(0, y + step[1] * data.height / 20)));
    } else if (step[0]) {
      choose(state.word + step[0]);
      if (byId("words").contains(document.activeElement)) byId("words").children[state.word].focus();
    } else {
      const next = data.kinds.indexOf(state.kind) + step[1];
      if (next < 0 || next >= data.kinds.length) return;
      state.kind = data.kinds[next];
      byId("kind").value = state.kind;
      showAll();
    }
  });
  byId("save-png").addEventListener("click", () => byId("picture").toBlob(blob => save(`${baseName()}.png`, blob)));
  byId("save-csv").addEventListener("click", () => {
    const map = mapOf(word(), state.kind), lines = [];
    for (let r = 0; r < map.rows; ++r) lines.push(map.values.slice(r * map.cols, (r + 1) * map.cols).join(","));
    save(`${baseName()}.csv`, new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  });
  byId("save-json").addEventListener("click", () => save(`${data.stem}.json`, new Blob([JSON.stringify(data)], { type: "application/json" })));
}

byId("file").textContent = data.file;
byId("about").textContent = data.about;
listen();
image.onload = () => { document.body.dataset.ready = "yes"; showAll(); };
image.src = data.picture;

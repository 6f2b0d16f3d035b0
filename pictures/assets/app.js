// The report's script. It reads the one block of JSON and draws. Everything that comes from a trace
// is set as text (`textContent`) or drawn on a canvas; nothing of it is ever read as markup.
"use strict";
(() => {
const D = JSON.parse(document.getElementById("data").textContent);
const app = document.getElementById("app");

/* ---- small tools ---- */

function h(tag, props, ...kids) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [name, f] of Object.entries(value)) e.addEventListener(name, f);
    else if (key === "style") for (const [name, v] of Object.entries(value)) e.style.setProperty(name, v);
    else if (key === "value") e.value = value;
    else e.setAttribute(key, value === true ? "" : String(value));
  }
  add(e, kids);
  return e;
}
function add(e, kids) {
  for (const kid of kids.flat(Infinity)) {
    if (kid === null || kid === undefined || kid === false) continue;
    e.append(kid instanceof Node ? kid : document.createTextNode(String(kid)));
  }
}
const known = (x) => x !== null && x !== undefined;
const digits = (x) => known(x) ? Number(x).toLocaleString("en-US", { maximumFractionDigits: 3 }) : "";
// Nanoseconds as seconds, exact: no digit is rounded away.
function exact(ns) {
  if (!known(ns)) return "?";
  const sign = ns < 0 ? "-" : "", all = Math.abs(Math.round(ns));
  const part = String(all % 1e9).padStart(9, "0").replace(/0+$/, "").padEnd(3, "0");
  return `${sign}${Math.floor(all / 1e9)}.${part}`;
}
function length(ns) {
  if (!known(ns)) return "?";
  const a = Math.abs(ns);
  if (a >= 1e9) return `${(ns / 1e9).toFixed(3)} s`;
  if (a >= 1e6) return `${(ns / 1e6).toFixed(3)} ms`;
  if (a >= 1e3) return `${(ns / 1e3).toFixed(3)} µs`;
  return `${ns} ns`;
}
const dark = () => document.documentElement.dataset.theme === "dark";
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const LIGHT = ["#2f6fb7", "#d9a13b", "#3f9b5b", "#b5485d", "#7a5fb0", "#8a6d3b", "#cf6ba3", "#3f9796", "#a3abb5"];
const DARK = ["#6ea8e8", "#e8bd62", "#71c98a", "#e58799", "#ab93de", "#c2a36b", "#e79bc6", "#7fd1d0", "#6d7681"];
const colour = (at) => (dark() ? DARK : LIGHT)[at % 8];
const rest = () => (dark() ? DARK : LIGHT)[8];
function byPriority(p) {
  if (!known(p)) return rest();
  const t = Math.min(31, Math.max(0, p)) / 31;
  return `hsl(${Math.round(215 - 215 * Math.min(1, t * 1.7))} 60% ${Math.round(dark() ? 42 + 28 * t : 74 - 34 * t)}%)`;
}
const byRank = (r) => !known(r) ? rest() : r === 0 ? colour(0) : colour(1 + Math.min(6, r));
const byCore = (type) => type === "P" ? colour(0) : type === "E" ? colour(2) : rest();

const tip = h("div", { class: "tip", hidden: true });
document.body.append(tip);
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const w = tip.offsetWidth, high = tip.offsetHeight;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - w - 6))}px`;
  tip.style.top = `${y + 18 + high > innerHeight ? y - high - 10 : y + 18}px`;
}
const hideTip = () => { tip.hidden = true; };

function copy(text, pre, button) {
  const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
  const byHand = () => {
    getSelection().selectAllChildren(pre);
    if (document.execCommand("copy")) done();
  };
  if (navigator.clipboard && isSecureContext) navigator.clipboard.writeText(text).then(done, byHand); else byHand();
}
function sqlBox(sql, label) {
  const pre = h("pre", { tabindex: 0 }, sql);
  const button = h("button", { type: "button", on: { click: () => copy(sql, pre, button) } }, "Copy");
  return h("details", { class: "sql" }, h("summary", {}, label || "SQL behind this"), button, pre);
}
function lazyDetails(label, make) {
  const d = h("details", {}, h("summary", {}, label));
  d.addEventListener("toggle", () => { if (d.open && d.children.length === 1) d.append(make()); });
  return d;
}
function figure(title, tools, body, below) {
  return h("figure", {}, h("figcaption", {}, h("span", {}, title), h("span", { class: "tools" }, tools)), body, below);
}
function select(label, options, value, change) {
  const s = h("select", { "aria-label": label, on: { change: () => change(s.value) } },
    options.map(([v, text]) => h("option", { value: v }, text)));
  s.value = value;
  return h("label", {}, h("span", { class: "soft" }, `${label} `), s);
}

/* ---- tables ---- */

const ROWS_AT_ONCE = 300;
// columns: {label, num, key(row) to sort and filter by, show(row) gives a node or text}
function table(columns, rows, options) {
  const o = options || {};
  let by = o.by === undefined ? -1 : o.by, down = !!o.down, shown = ROWS_AT_ONCE, words = "";
  const body = h("tbody", {}), heads = [], count = h("span", { class: "soft" });
  const more = h("button", { type: "button", hidden: true, on: { click: () => { shown += 1000; fill(); } } }, "Show more");
  const text = rows.map((r) => columns.map((c) => { const k = c.key(r); return known(k) ? String(k) : ""; }).join("\n").toLowerCase());
  function order() {
    let list = rows.map((_, i) => i);
    if (words) { const all = words.toLowerCase().split(/\s+/); list = list.filter((i) => all.every((w) => text[i].includes(w))); }
    if (by >= 0) {
      const key = columns[by].key, sign = down ? -1 : 1;
      list.sort((a, b) => {
        const x = key(rows[a]), y = key(rows[b]);
        if (!known(x) || !known(y)) return known(x) ? -1 : known(y) ? 1 : a - b;
        return (x < y ? -1 : x > y ? 1 : 0) * sign || a - b;
      });
    }
    return list;
  }
  function fill() {
    const list = order();
    body.replaceChildren(...list.slice(0, shown).map((i) => {
      const row = rows[i];
      const open = o.open && (() => o.open(row));
      return h("tr", {}, columns.map((c, at) => {
        const value = c.show ? c.show(row) : c.key(row);
        const cell = c.num && typeof value === "number" ? digits(value) : value;
        const inner = at === 0 && o.href ? h("a", { href: o.href(row) }, cell) : cell;
        return h("td", { class: c.num ? "num" : c.words ? "words" : null, on: open && at === 0 ? { click: open } : null }, inner);
      }));
    }));
    more.hidden = list.length <= shown;
    count.textContent = `${list.length} of ${rows.length}`;
    heads.forEach((th, at) => at === by ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
    heads.forEach((th, at) => { th.firstChild.textContent = columns[at].label + (at === by ? (down ? " ▾" : " ▴") : ""); });
  }
  columns.forEach((c, at) => heads.push(h("th", { class: c.num ? "num" : null, scope: "col" },
    h("button", { type: "button", on: { click: () => { if (by === at) down = !down; else { by = at; down = !!c.num; } fill(); } } }, c.label))));
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter rows", on: { input: () => { words = filter.value.trim(); shown = ROWS_AT_ONCE; fill(); } } });
  fill();
  return h("div", {}, o.plain ? null : h("div", { class: "bar-row" }, filter, count),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), body)), more);
}
function plainTable(labels, rows, most) {
  const cut = rows.slice(0, most || 400);
  return h("div", {}, h("div", { class: "scroll" }, h("table", {},
    h("thead", {}, h("tr", {}, labels.map((l) => h("th", { scope: "col" }, l)))),
    h("tbody", {}, cut.map((r) => h("tr", {}, r.map((v) => h("td", { class: typeof v === "number" ? "num" : null }, known(v) ? v : "")))))),
  ), cut.length < rows.length ? h("p", { class: "soft" }, `${rows.length - cut.length} more rows; the SQL gives all`) : null);
}

/* ---- time: zooming shared by charts and lanes ---- */

// Keys for anything with a window: + and - zoom, arrows move, Home resets.
function keys(e, get, set, reset) {
  const [a, b] = get(), w = b - a;
  const to = { "+": [a + w / 4, b - w / 4], "=": [a + w / 4, b - w / 4], "-": [a - w / 2, b + w / 2],
    ArrowLeft: [a - w / 5, b - w / 5], ArrowRight: [a + w / 5, b + w / 5] }[e.key];
  if (e.key === "Home") reset(); else if (to) set(to[0], to[1]); else return;
  e.preventDefault();
}
const HINT = "Drag to zoom, double-click for all. With the keyboard: + and −, arrows, Home.";
const charts = [];
function chart(opts, data, full) {
  const box = h("div", { class: "chart", tabindex: 0, role: "img", "aria-label": opts.label });
  requestAnimationFrame(() => {
    if (!box.isConnected) return;
    const width = () => Math.max(200, box.clientWidth);
    const u = new uPlot({ ...opts, width: width(), height: 260 }, data, box);
    charts.push(u);
    box.addEventListener("keydown", (e) => keys(e, () => [u.scales.x.min, u.scales.x.max],
      (a, b) => u.setScale("x", { min: Math.max(full[0], a), max: Math.min(full[1], b) }),
      () => u.setScale("x", { min: full[0], max: full[1] })));
    new ResizeObserver(() => { if (box.isConnected && Math.abs(u.width - width()) > 1) u.setSize({ width: width(), height: 260 }); }).observe(box);
  });
  return box;
}
const axis = (label) => ({ label, stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, labelSize: 20, font: "12px system-ui", labelFont: "12px system-ui" });

/* ---- figures ---- */

const FIGURES = { cpu: cpuFigure, exits: exitsFigure, lanes: lanesFigure, chain: chainFigure, tree: treeFigure, placement: placementFigure };
const drawn = (at) => { const f = D.figures[at]; return f && FIGURES[f.kind] ? FIGURES[f.kind](f) : null; };

function cpuFigure(f) {
  const holder = h("div", {});
  const seconds = f.bucket_ns / 1e9, cpus = f.cpus || 1;
  let mode = "process";
  function draw() {
    const part = f[mode], n = part.busy_ns[0].length, x = [];
    for (let i = 0; i < n; i++) x.push(i * seconds);
    x.push(f.end_ns / 1e9);
    const share = part.busy_ns.map((list) => list.map((ns, i) => ns / (Math.min(f.bucket_ns, f.end_ns - i * f.bucket_ns) || 1)));
    const sums = [];
    let below = new Array(n).fill(0);
    for (const list of share) { below = list.map((v, i) => v + below[i]); sums.push(below); }
    const gap = (i) => f.gaps.some(([a, b]) => a <= i * f.bucket_ns && b >= Math.min(f.end_ns, (i + 1) * f.bucket_ns));
    const order = share.map((_, i) => i).reverse();
    const fillOf = (i) => part.names[i] === null ? rest() : mode === "priority" ? byPriority(Number(part.names[i])) : colour(i);
    const label = (i) => part.names[i] === null ? "others" : mode === "priority" ? `priority ${part.names[i]}` : part.names[i];
    const data = [x, ...order.map((i) => { const list = sums[i].map((v, at) => gap(at) ? null : v); list.push(list[n - 1]); return list; })];
    const series = [{ label: "from", value: (_, v) => known(v) ? `${v.toFixed(6)} s` : "" },
      ...order.map((i) => ({ label: label(i), stroke: fillOf(i), fill: fillOf(i), width: 0, points: { show: false },
        paths: uPlot.paths.stepped({ align: 1 }),
        value: (u, v, s, at) => !known(at) ? "" : at < n && gap(at) ? "not recorded" : `${(share[i][Math.min(at, n - 1)]).toFixed(3)} CPUs, ${length(part.busy_ns[i][Math.min(at, n - 1)])}` }))];
    holder.replaceChildren(chart({ label: "CPU use over time", series, axes: [axis("seconds"), axis("CPUs busy")],
      scales: { x: { time: false }, y: { range: (u, lo, hi) => [0, Math.max(hi || 0, Math.min(cpus, (hi || 0) * 1.15), 0.01)] } },
      cursor: { drag: { x: true, y: false } }, legend: { live: true } }, data, [0, f.end_ns / 1e9]));
  }
  draw();
  return figure("CPU use over time", select("by", [["process", "process"], ["priority", "priority"]], mode, (v) => { mode = v; draw(); }), holder,
    [h("p", { class: "soft" }, `${cpus} CPUs, buckets of ${length(f.bucket_ns)}. ${HINT}`),
      sqlBox(f.process_sql, "SQL behind this, by process"), sqlBox(f.priority_sql, "SQL behind this, by priority")]);
}

function exitsFigure(f) {
  const x = f.rows.map((r) => r[0] / 1e9), s = (label, c, unit) => ({ label, stroke: c, width: 2, paths: uPlot.paths.stepped({ align: 1 }), scale: unit, points: { show: false }, value: (_, v) => known(v) ? digits(v) : "" });
  const box = chart({ label: "Exit concurrency", series: [{ label: "from", value: (_, v) => known(v) ? `${v.toFixed(3)} s` : "" },
    s("processes exiting", colour(3), "n"), s("CPUs that ran them", colour(0), "c"), s("CPUs idle", rest(), "c")],
    axes: [axis("seconds"), { ...axis("processes"), scale: "n" }, { ...axis("CPUs"), scale: "c", side: 1, grid: { show: false } }],
    scales: { x: { time: false }, n: { range: (u, lo, hi) => [0, hi * 1.1 || 1] }, c: { range: (u, lo, hi) => [0, hi * 1.1 || 1] } }, cursor: { drag: { x: true, y: false } } },
    [x, f.rows.map((r) => r[2]), f.rows.map((r) => r[3]), f.rows.map((r) => r[4])], [x[0], x[x.length - 1]]);
  return figure("Exit concurrency", null, box, [h("p", { class: "soft" }, `${f.cpus || "?"} CPUs. ${HINT}`), sqlBox(f.sql),
    lazyDetails("Table", () => plainTable(["from [s]", "to [s]", "processes exiting", "CPUs that ran them", "CPUs idle"], f.rows.map((r) => [exact(r[0]), exact(r[1]), r[2], r[3], r[4]])))]);
}

function lanesFigure(f) {
  const lanes = [];
  for (const [head, list] of f.threads) {
    const lane = { label: `${known(head[0]) ? head[0] : "?"} ${head[2]}`, kind: "thread", items: [] };
    for (let i = 0; i < list.length; i += 8) lane.items.push({ a: list[i], b: list[i] + list[i + 1], state: list[i + 2], cpu: list[i + 3], priority: list[i + 4], rank: list[i + 5], packed: list[i + 6], busy: list[i + 7], name: head[0], tid: head[2] });
    lanes.push(lane);
  }
  const types = new Map(f.types), ran = new Map(f.cpus);
  const count = Math.max(f.cpu_count || 0, ...[...ran.keys()].map((c) => c + 1), 0);
  for (let cpu = 0; cpu < count; cpu++) {
    const list = ran.get(cpu) || [], type = types.get(cpu);
    const lane = { label: `CPU ${cpu}${type ? ` (${type})` : ""}`, kind: "cpu", items: [] };
    for (let i = 0; i < list.length; i += 8) lane.items.push({ a: list[i], b: list[i] + list[i + 1], state: "running", cpu, name: f.names[list[i + 2]], tid: list[i + 3], priority: list[i + 4], rank: list[i + 5], packed: list[i + 6], busy: list[i + 7] });
    lanes.push(lane);
  }
  const places = new Map();
  for (const lane of lanes) for (const i of lane.items) if (i.state === "running") places.set(i.name, (places.get(i.name) || 0) + i.busy);
  const ranking = [...places.entries()].sort((x, y) => y[1] - x[1]).map((e) => e[0]);
  const place = new Map(ranking.map((n, i) => [n, i]));
  const full = [0, f.to_ns - f.from_ns];
  let view = full.slice(), mode = "process", drag = null;
  const canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": "What threads and CPUs did; the table below has the same" });
  const legend = h("div", { class: "keys" });
  const TOP = 22, GAP = 8, high = (l) => l.kind === "thread" ? 18 : count > 24 ? 9 : 15;
  let y = TOP;
  for (const [at, lane] of lanes.entries()) { if (at > 0 && lane.kind !== lanes[at - 1].kind) y += GAP; lane.y = y; lane.h = high(lane); y += lane.h + 2; }
  const height = y + 4;
  const left = () => canvas.clientWidth < 560 ? 96 : 190;
  function tint(i) {
    if (i.state === "ready") return css("--ready");
    if (i.state === "waiting") return css("--waiting");
    if (mode === "priority") return byPriority(i.priority);
    if (mode === "rank") return byRank(i.rank);
    if (mode === "core") return byCore(types.get(i.cpu));
    const at = place.get(i.name);
    return at < 8 ? colour(at) : rest();
  }
  function draw() {
    const w = canvas.clientWidth, ratio = devicePixelRatio || 1;
    if (!w) return;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(w * ratio); canvas.height = Math.round(height * ratio);
    const c = canvas.getContext("2d"), L = left(), span = view[1] - view[0];
    const X = (t) => L + (t - view[0]) / span * (w - L - 6);
    c.scale(ratio, ratio);
    c.clearRect(0, 0, w, height);
    c.font = "11px system-ui"; c.textBaseline = "middle";
    const step = niceStep(span / Math.max(2, (w - L) / 110)), first = Math.ceil((view[0] + f.from_ns) / step) * step;
    for (let t = first; t <= view[1] + f.from_ns; t += step) {
      const x = X(t - f.from_ns);
      c.fillStyle = css("--line"); c.fillRect(x, TOP - 4, 1, height - TOP);
      const label = tick(t, step), half = c.measureText(label).width / 2;
      if (x + half < w) { c.fillStyle = css("--soft"); c.fillText(label, Math.max(L, x - half), 9); }
    }
    for (const lane of lanes) {
      c.fillStyle = css("--soft");
      if (lane.h >= 11 || lanes.indexOf(lane) % 4 === 0) fitText(c, lane.label, 2, lane.y + lane.h / 2 + .5, L - 8);
      const waiting = [], others = [], packed = [], filled = new Map();
      for (const i of lane.items) if (i.b > view[0] - f.slot_ns && i.a < view[1] + f.slot_ns) (i.packed ? packed : i.state === "waiting" ? waiting : others).push(i);
      // What was added up by slot fills its slot as high as it filled the time of the slot.
      for (const i of packed) {
        const slot = Math.floor(i.a / f.slot_ns), a = Math.max(L, X(slot * f.slot_ns)), b = Math.min(w - 6, X((slot + 1) * f.slot_ns));
        const below = filled.get(slot) || 0, part = Math.min(1 - below, i.busy / f.slot_ns);
        filled.set(slot, below + part);
        if (b <= a || part <= 0) continue;
        c.fillStyle = tint(i);
        c.fillRect(a, lane.y + lane.h * (1 - below - part), b - a + .3, lane.h * part);
      }
      for (const i of waiting.concat(others)) {
        const a = Math.max(L, X(i.a)), b = Math.min(w - 6, X(i.b));
        c.fillStyle = tint(i);
        const thin = i.state === "waiting" ? lane.h / 3 : 0;
        c.fillRect(a, lane.y + thin, Math.max(.6, b - a), lane.h - 2 * thin);
      }
    }
    c.fillStyle = css("--mark");
    for (const t of f.mark) { const x = X(t - f.from_ns); if (x >= L && x <= w) c.fillRect(x - .5, TOP - 8, 1.5, height - TOP + 8); }
    if (drag) { c.fillStyle = "rgba(120,150,190,.3)"; c.fillRect(Math.min(drag.a, drag.b), TOP - 4, Math.abs(drag.b - drag.a), height); }
  }
  function keyList() {
    const swatch = (col, text) => h("span", { style: { "--swatch": col } }, text);
    const out = [];
    if (mode === "process") { ranking.slice(0, 8).forEach((n, i) => out.push(swatch(colour(i), known(n) ? n : "unknown"))); if (ranking.length > 8) out.push(swatch(rest(), "others")); }
    if (mode === "priority") for (const p of [1, 4, 8, 10, 13, 15, 24, 31]) out.push(swatch(byPriority(p), `priority ${p}`));
    if (mode === "rank") { const seen = new Set(); for (const l of lanes) for (const i of l.items) if (i.state === "running") seen.add(i.rank); for (const r of [...seen].sort((a, b) => a - b)) out.push(swatch(byRank(r), known(r) ? `rank ${r}` : "rank unknown")); }
    if (mode === "core") out.push(swatch(byCore("P"), "P core"), swatch(byCore("E"), "E core"), swatch(rest(), "not told"));
    if (f.threads.length) out.push(swatch(css("--ready"), "ready"), swatch(css("--waiting"), "waiting"));
    out.push(swatch(css("--mark"), "the finding"));
    legend.replaceChildren(...out);
  }
  const zoom = (a, b) => { const span = Math.max(100, Math.min(full[1], b - a)); a = Math.min(Math.max(full[0], a), full[1] - span); view = [a, a + span]; draw(); };
  const reset = () => { view = full.slice(); draw(); };
  const at = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  const time = (x) => view[0] + (Math.max(left(), x) - left()) / (canvas.clientWidth - left() - 6) * (view[1] - view[0]);
  function under(x, y) {
    const lane = lanes.find((l) => y >= l.y && y < l.y + l.h + 2);
    if (!lane || x < left()) return null;
    const t = time(x), share = 1 - (y - lane.y) / lane.h, near = (view[1] - view[0]) / canvas.clientWidth * 2;
    let best = null, below = 0;
    const slot = Math.floor(t / f.slot_ns);
    for (const i of lane.items) {
      if (i.packed) {
        if (Math.floor(i.a / f.slot_ns) !== slot) continue;
        below += i.busy / f.slot_ns;
        if (!best || !best.inside) { if (!best || !best.done) best = { i, inside: false, done: below >= share }; }
        continue;
      }
      if (t < i.a - near || t > i.b + near) continue;
      const inside = t >= i.a && t < i.b, better = best === null || (inside && !best.inside) || (inside === best.inside && i.b - i.a < best.i.b - best.i.a);
      if (better) best = { i, inside };
    }
    return best && best.i;
  }
  const words = (i) => [`${known(i.name) ? i.name : "?"}, ${known(i.tid) ? `thread ${i.tid}` : "several threads"}`,
    `${i.state}${i.state === "running" && known(i.cpu) ? ` on CPU ${i.cpu}` : ""}: ${i.packed ? `${length(i.busy)} in ${i.packed} times` : length(i.b - i.a)}`,
    `${exact(f.from_ns + i.a)} s to ${exact(f.from_ns + i.b)} s`,
    `priority ${known(i.priority) ? i.priority : "unknown"}, rank ${known(i.rank) ? i.rank : "unknown"}`].join("\n");
  canvas.addEventListener("pointerdown", (e) => { if (e.button === 0 && e.pointerType === "mouse") { const [x] = at(e); drag = { a: x, b: x }; canvas.setPointerCapture(e.pointerId); } });
  canvas.addEventListener("pointermove", (e) => {
    const [x, y] = at(e);
    if (drag) { drag.b = x; draw(); return; }
    const i = under(x, y);
    if (i) showTip(words(i), e.clientX, e.clientY); else hideTip();
  });
  canvas.addEventListener("pointerup", () => { if (!drag) return; const { a, b } = drag; drag = null; if (Math.abs(b - a) > 4) zoom(time(Math.min(a, b)), time(Math.max(a, b))); else draw(); });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.addEventListener("dblclick", reset);
  canvas.addEventListener("keydown", (e) => keys(e, () => view, zoom, reset));
  new ResizeObserver(draw).observe(canvas);
  keyList();
  const all = lanes.flatMap((l) => l.items.map((i) => [l.label, i.state, known(i.name) ? i.name : "", i.tid, i.cpu, exact(f.from_ns + i.a), i.busy, i.packed || 1, i.priority, i.rank]));
  const notes = [];
  const many = (cpu) => lanes.some((l) => (l.kind === "cpu") === cpu && l.items.some((i) => i.packed));
  notes.push(`${digits(f.runs)} runs, ${length(f.runs_ns)} of running in all.`);
  if (many(true) || many(false)) notes.push(`${many(true) ? "Runs" : "States"} shorter than ${length(f.slot_ns)} are added up: they fill their place as high as they filled the time.`);
  return figure("Threads and CPUs around it", [select("colour", [["process", "process"], ["priority", "priority"], ["rank", "rank"], ["core", "core class"]], mode, (v) => { mode = v; keyList(); draw(); }),
    h("button", { type: "button", on: { click: () => zoom(view[0] + (view[1] - view[0]) / 4, view[1] - (view[1] - view[0]) / 4) } }, "Zoom in"),
    h("button", { type: "button", on: { click: reset } }, "All")],
  h("div", { class: "lanes" }, canvas, legend), [h("p", { class: "soft" }, [...notes, HINT].join(" ")),
    sqlBox(f.runs_sql, "SQL behind the CPUs"), sqlBox(f.threads_sql, "SQL behind the threads"),
    lazyDetails("Table", () => plainTable(["lane", "state", "process", "tid", "CPU", "from [s]", "length [ns]", "times", "priority", "rank"], all))]);
}
function niceStep(raw) {
  const p = 10 ** Math.floor(Math.log10(Math.max(1, raw)));
  return [1, 2, 5, 10].map((m) => m * p).find((s) => s >= raw) || 10 * p;
}
function tick(ns, step) {
  const d = Math.max(0, Math.min(9, 9 - Math.floor(Math.log10(step))));
  return `${(ns / 1e9).toFixed(d)} s`;
}
function fitText(c, text, x, y, width) {
  let t = text;
  while (t.length > 1 && c.measureText(t).width > width) t = `${t.slice(0, -2)}…`;
  c.fillText(t, x, y);
}

function chainFigure(f) {
  const begin = Math.min(...f.rows.map((r) => known(r[4]) ? r[4] - (r[5] || 0) * 1e6 : Infinity)), end = Math.max(...f.rows.map((r) => r[4] || 0));
  const list = h("ol", { class: "chain" });
  let all = false, hidden = false;
  const alike = (x, y) => x && y && x[1] === y[1] && x[8] === y[8];
  function fill() {
    const out = [];
    let left = [];
    const skipped = () => {
      if (!left.length) return "";
      const who = [...new Set(left.map((r) => known(r[1]) ? r[1] : "?"))], holds = left.reduce((n, r) => n + (r[6] || 0), 0) * 1e3;
      const text = `${left.length} more ${left.length === 1 ? "hop" : "hops"} through ${who.slice(0, 3).join(", ")}${who.length > 3 ? " and others" : ""}, ${length(holds)} together, then `;
      left = [];
      hidden = true;
      return text;
    };
    f.rows.forEach((r, at) => {
      const [hop, process, pid, tid, ts, waited, hold, folded, frame, waitFrame] = r;
      const last = at === f.rows.length - 1;
      if (at > 0 && !all && !last && (folded || (at > 1 && alike(r, f.rows[at - 1]) && alike(r, f.rows[at + 1])))) { left.push(r); return; }
      if (at > 0) out.push(h("li", { class: "edge" }, skipped(), "woken by the next, ",
        known(hold) ? ["which kept it waiting ", h("b", {}, length(hold * 1e3)), " while it could run"] : "whose hold is unknown", known(frame) ? h("div", { class: "frame" }, frame) : null));
      const bar = known(ts) && end > begin && known(waited) ? h("div", { class: "track" }, h("i", { style: { left: `${(ts - waited * 1e6 - begin) / (end - begin) * 100}%`, width: `${Math.min(100, waited * 1e6 / (end - begin) * 100)}%` } })) : null;
      out.push(h("li", { class: folded ? "node folded" : "node" }, h("b", {}, known(process) ? process : "?"), ` (${known(pid) ? pid : "?"}), thread ${tid}: `,
        known(waited) ? ["waited ", h("b", {}, length(waited * 1e6)), ", "] : null, known(ts) ? `ran again at ${exact(ts)} s` : "ran before the recording began", bar,
        at === 0 && known(frame) ? h("div", { class: "frame" }, `waited in ${frame}`) : at > 0 && known(waitFrame) && !folded ? h("div", { class: "frame" }, `had waited in ${waitFrame}`) : null));
    });
    list.replaceChildren(...out);
  }
  fill();
  const toggle = hidden ? h("button", { type: "button", on: { click: () => { all = !all; toggle.textContent = all ? "Show fewer" : `Show all ${f.rows.length} hops`; fill(); } } }, `Show all ${f.rows.length} hops`) : null;
  return figure("Chain of waits", toggle, list, [h("p", { class: "soft" }, known(begin) && isFinite(begin) ? `Bars run from ${exact(begin)} s to ${exact(end)} s. Each thread was woken by the one below it.` : ""), sqlBox(f.sql)]);
}

function treeRows(f, window, fresh) {
  const [a, b] = window;
  return f.rows.map(([depth, process, pid, start, end, code, line]) => {
    const from = known(start) ? start : 0, to = known(end) ? end : f.end_ns;
    const bar = h("i", { class: [known(start) ? "" : "open-start", known(end) ? "" : "open-end", !known(start) && !known(end) ? "whole" : "", fresh && fresh(process) ? "new" : ""].join(" ").trim(),
      style: { left: `${Math.max(0, (from - a) / (b - a) * 100)}%`, width: `${Math.max(0, (Math.min(b, to) - Math.max(a, from)) / (b - a) * 100)}%` } });
    const say = [`${known(process) ? process : "?"} (${pid})`, `${known(start) ? `${exact(start)} s` : "before the recording"} to ${known(end) ? `${exact(end)} s` : "after it"}`,
      known(start) && known(end) ? `lived ${length(end - start)}` : null, known(code) ? `exit code ${code}` : null, line].filter(known).join("\n");
    const row = h("tr", { class: fresh && fresh(process) ? "new" : null, on: { pointermove: (e) => showTip(say, e.clientX, e.clientY), pointerleave: hideTip } },
      h("td", { style: { "padding-left": `${.4 + Math.min(12, depth || 0) * .9}rem` } }, known(process) ? process : "?"), h("td", { class: "num soft" }, pid),
      h("td", { class: "track-cell" }, h("div", { class: "track" }, bar)), h("td", { class: "num" }, known(start) && known(end) ? length(end - start) : ""));
    return row;
  });
}
const treeTable = (rows) => h("div", { class: "scroll tall", tabindex: rows.length > 20 ? 0 : null }, h("table", { class: "tree" }, h("tbody", {}, rows)));
function treeFigure(f) {
  const told = f.rows.filter((r) => known(r[3]) || known(r[4]));
  const cut = f.all > f.rows.length ? `${f.rows.length} of ${f.all} processes: those that started or ended in the recording. ` : "";
  return figure("Processes and their lifetimes", null, treeTable(treeRows(f, [0, f.end_ns])), [h("p", { class: "soft" }, `${cut}${told.length} started or ended in the recording. A dashed end is outside of it.`), sqlBox(f.sql),
    lazyDetails("Table", () => plainTable(["depth", "process", "pid", "start [s]", "end [s]", "exit code", "command line"], f.rows.map((r) => [r[0], r[1], r[2], known(r[3]) ? exact(r[3]) : "", known(r[4]) ? exact(r[4]) : "", r[5], r[6]])))]);
}

function placementFigure(f) {
  const cpus = f.cpus.length ? f.cpus : [...new Set(f.rows.flatMap((r) => r[2].map((u) => u[0])))].sort((a, b) => a - b).map((c) => [c, null, null]);
  const most = Math.max(...f.rows.flatMap((r) => r[2].map((u) => u[1])), 1);
  const head = h("tr", {}, h("th", {}, "CPU"), cpus.map(([c, type]) => h("th", { scope: "col", title: type ? `${type} core` : null }, cpus.length > 32 ? (c % 4 === 0 ? c : "") : c, type ? h("div", {}, type) : null)));
  const rows = f.rows.map(([name, pid, used]) => {
    const by = new Map(used);
    return h("tr", {}, h("td", {}, `${known(name) ? name : "?"} (${pid})`), cpus.map(([c, type]) => {
      const ns = by.get(c) || 0, strong = ns ? .15 + .85 * ns / most : 0;
      const say = `${known(name) ? name : "?"} (${pid}) on CPU ${c}${type ? ` (${type} core)` : ""}: ${length(ns)}`;
      return h("td", { "aria-label": say, style: { background: ns ? `color-mix(in srgb, ${type === "E" ? colour(2) : colour(0)} ${Math.round(strong * 100)}%, ${css("--panel")})` : css("--bg") },
        on: { pointermove: (e) => showTip(say, e.clientX, e.clientY), pointerleave: hideTip } });
    }));
  });
  const typed = f.cpus.some((c) => c[1]);
  return figure("Where the busiest processes ran", null, h("div", { class: "scroll" }, h("table", { class: "strip" }, h("thead", {}, head), h("tbody", {}, rows))),
    [h("p", { class: "soft" }, `The fullest cell is ${length(most)}. ${typed ? "P cores blue, E cores green." : "The trace does not tell P from E cores."}`), sqlBox(f.sql),
      lazyDetails("Table", () => plainTable(["process", "pid", "CPU", "time [ns]"], f.rows.flatMap(([n, p, used]) => used.map(([c, ns]) => [n, p, c, ns]))))]);
}

/* ---- views ---- */

const trace = (at) => D.traces[at];
const figuresOf = new Map(D.pictures.map((p) => [p.trace, p.figures]));
const findingsOf = new Map();
D.findings.forEach((f, i) => { if (!findingsOf.has(f.trace)) findingsOf.set(f.trace, []); findingsOf.get(f.trace).push(i); });
const worst = { good: 0, warn: 1, bad: 2 };
const severity = (s) => s === "error" || s === "data_loss" ? "bad" : s === "info" ? "good" : "warn";
function healthOf(t) {
  if (t.status === "failed") return "bad";
  let out = t.status === "ok" ? "good" : "bad";
  for (const [, s] of t.health) { const x = severity(s); if (worst[x] > worst[out]) out = x; }
  return out;
}
const healthWord = { good: "good", warn: "look", bad: "trouble" };
function answered(t) {
  const all = D.questions.length, can = all - t.lacks.length;
  return h("span", { title: `${can} of ${all} questions can be asked` }, `${can}/${all}`, h("span", { class: "share" }, h("i", { style: { width: `${can / Math.max(1, all) * 100}%` } })));
}
const names = (q) => q.replace(/_/g, " ");

function overview() {
  const rows = D.traces.map((t, at) => ({ t, at, found: findingsOf.get(at) || [] }));
  const worstOf = (r) => r.found.length ? D.findings[r.found[0]] : null;
  const card = (n, text) => h("div", { class: "card" }, h("b", {}, digits(n)), text);
  return [h("h2", {}, "Traces"), h("div", { class: "cards" }, card(rows.length, "traces"), card(rows.filter((r) => healthOf(r.t) !== "good").length, "want a look"),
    card(D.findings_all, "findings"), card(rows.reduce((n, r) => n + (r.t.events || 0), 0), "events")),
  table([
    { label: "trace", key: (r) => r.t.name, words: true },
    { label: "health", key: (r) => worst[healthOf(r.t)], show: (r) => h("span", { class: `pill ${healthOf(r.t)}` }, healthWord[healthOf(r.t)]) },
    { label: "answers", key: (r) => D.questions.length - r.t.lacks.length, show: (r) => answered(r.t), num: true },
    { label: "findings", key: (r) => r.found.length, num: true },
    { label: "worst finding", key: (r) => worstOf(r) ? worstOf(r).seconds : null, words: true, show: (r) => { const f = worstOf(r); return f ? `${names(f.question)}${known(f.seconds) ? `, ${f.seconds.toFixed(3)} s` : ""}` : ""; } },
    { label: "length [s]", key: (r) => r.t.duration_s, num: true },
    { label: "CPUs", key: (r) => r.t.cpus, num: true },
    { label: "events", key: (r) => r.t.events, num: true },
    { label: "lost", key: (r) => r.t.lost, num: true },
    { label: "Windows", key: (r) => r.t.build, show: (r) => [r.t.os, known(r.t.build) ? ` (${r.t.build})` : ""].filter(known).join("") },
    { label: "tags", key: (r) => Object.entries(r.t.tags || {}).map((e) => e.join("=")).join(" "), words: true },
  ], rows, { href: (r) => `#trace/${r.at}` }), sqlBox(D.traces_sql)];
}

const FINDING_COLUMNS = [
  { label: "finding", key: (f) => names(f.question) },
  { label: "seconds", key: (f) => f.seconds, num: true },
  { label: "about", key: (f) => f.subject, words: true, show: (f) => [f.subject, known(f.tid) ? ` (tid ${f.tid})` : ""].filter(known).join("") },
  { label: "what", key: (f) => f.detail, words: true },
  { label: "at [s]", key: (f) => f.ts_ns, num: true, show: (f) => known(f.ts_ns) ? exact(f.ts_ns) : "" },
  { label: "cases", key: (f) => f.count, num: true },
  { label: "picture", key: (f) => f.figures.length ? "yes" : "" },
];
const traceColumn = { label: "trace", key: (f) => trace(f.trace).name, words: true, show: (f) => h("a", { href: `#trace/${f.trace}` }, trace(f.trace).name) };
const place = new Map(D.findings.map((f, i) => [f, i]));
const findingHref = (f) => `#finding/${place.get(f)}`;

function findings() {
  return [h("h2", {}, "Findings, worst first"),
    h("p", { class: "soft" }, "One row for each trace and question that found something, with its worst case. No finding is not a clean bill: what a trace cannot answer stands on its page.",
      D.findings_all > D.findings.length ? ` ${D.findings_all - D.findings.length} more are left out here.` : ""),
    D.findings.length ? table([FINDING_COLUMNS[0], traceColumn, ...FINDING_COLUMNS.slice(1)], D.findings, { href: findingHref }) : h("p", {}, "Nothing found."), sqlBox(D.findings_sql)];
}

function noPicture(name) {
  return h("p", { class: "soft" }, "This report has no picture of it; it has those of the worst traces, as far as they fit. For this one: ", h("code", {}, `etwas html --trace "${name}" --output FILE`));
}

function finding(at) {
  const f = D.findings[at];
  if (!f) return [h("p", {}, "No such finding.")];
  const near = [at > 0 ? h("a", { href: `#finding/${at - 1}` }, "previous") : null, at + 1 < D.findings.length ? h("a", { href: `#finding/${at + 1}` }, "next") : null];
  return [h("h2", {}, names(f.question), known(f.subject) ? `: ${f.subject}` : "", known(f.seconds) ? `, ${f.seconds.toFixed(3)} s` : ""),
    h("p", {}, f.detail, known(f.ts_ns) ? `, from ${exact(f.ts_ns)} s` : "", ", in ", h("a", { href: `#trace/${f.trace}` }, trace(f.trace).name), f.count > 1 ? `; the worst of ${f.count}` : ""),
    h("p", { class: "bar-row" }, near), f.figures.length ? f.figures.map(drawn) : noPicture(trace(f.trace).name),
    f.sql ? sqlBox(f.sql, "SQL that lists all cases of the trace") : null,
    (figuresOf.get(f.trace) || []).filter((i) => f.question.includes("exit") || f.question === "convoys" ? D.figures[i].kind === "exits" || D.figures[i].kind === "cpu" : D.figures[i].kind === "cpu").map(drawn)];
}

function tracePage(at) {
  const t = trace(at);
  if (!t) return [h("p", {}, "No such trace.")];
  const list = (findingsOf.get(at) || []).map((i) => D.findings[i]);
  const facts = [["Windows", [t.os, known(t.build) ? ` (${t.build})` : ""].filter(known).join("")], ["machine", t.machine], ["processor", t.model], ["CPUs", t.cpus], ["start (UTC)", t.start], ["length", known(t.duration_s) ? `${t.duration_s} s` : null],
    ["events", digits(t.events)], ["lost", digits(t.lost)], ["damaged buffers", t.damaged || null], ["error", t.error], ...Object.entries(t.tags || {}).map(([k, v]) => [k, v])];
  const figures = figuresOf.get(at);
  return [h("h2", {}, t.name, " ", h("span", { class: `pill ${healthOf(t)}` }, t.status)),
    h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, facts.filter((f) => known(f[1]) && f[1] !== "").map(([k, v]) => h("tr", {}, h("th", { scope: "row" }, k), h("td", { class: "words" }, v)))))),
    t.health.length ? h("details", { open: healthOf(t) !== "good" }, h("summary", {}, `${t.health.length} health counters`), plainTable(["counter", "severity", "count", "meaning", "remedy"], t.health)) : null,
    t.lacks.length ? lazyDetails(`${t.lacks.length} of ${D.questions.length} questions cannot be asked of it`, () => plainTable(["question", "lacks"], t.lacks.map(([q, m]) => [D.questions[q], D.missing[m]]))) : null,
    h("h3", {}, "Findings"), list.length ? table(FINDING_COLUMNS, list, { href: findingHref, plain: true }) : h("p", {}, "Nothing found."),
    figures ? [h("h3", {}, "Pictures"), figures.map(drawn)] : noPicture(t.name)];
}

function compare(first, second) {
  const trees = D.figures.filter((f) => f.kind === "tree");
  if (trees.length < 2) return [h("h2", {}, "Side by side"), h("p", {}, "This needs two traces with processes.")];
  const lower = (s) => String(s).toLowerCase();
  const have = (f) => new Set(f.rows.map((r) => lower(r[1])));
  let pair = [trees[0], trees[1]];
  if (known(first) && known(second)) pair = [first, second].map((at) => trees.find((f) => f.trace === at) || trees[0]);
  else {
    // Two traces of nearly the same processes have the most to tell.
    const sets = trees.map(have);
    let best = 0;
    trees.forEach((x, i) => trees.forEach((y, k) => {
      if (k <= i) return;
      const both = [...sets[i]].filter((n) => sets[k].has(n)).length, part = both / (sets[i].size + sets[k].size - both);
      if (part < 1 && part > best) { best = part; pair = [x, y]; }
    }));
  }
  const [a, b] = pair;
  const options = trees.map((f) => [String(f.trace), trace(f.trace).name]);
  const go = (x, y) => { location.hash = `compare/${x}/${y}`; };
  const quote = (s) => `'${s.replace(/'/g, "''")}'`;
  const inA = have(a), inB = have(b), longest = Math.max(a.end_ns, b.end_ns);
  const column = (f, other) => h("div", {}, h("h3", {}, h("a", { href: `#trace/${f.trace}` }, trace(f.trace).name)),
    treeTable(treeRows(f, [0, longest], (name) => !other.has(lower(name)))));
  return [h("h2", {}, "Side by side"), h("div", { class: "bar-row" }, select("left", options, String(a.trace), (v) => go(v, b.trace)), select("right", options, String(b.trace), (v) => go(a.trace, v))),
    h("p", { class: "soft" }, "Both on one scale of time. Processes that only one side has stand out."), h("div", { class: "side" }, column(a, inB), column(b, inA)),
    sqlBox(`FROM process_tree_diff(${quote(trace(a.trace).name)}, ${quote(trace(b.trace).name)})`)];
}

const MEASURES = [["cpu_s", "CPU time [s]", 2], ["p_cpu_s", "CPU time on P cores [s]", 3], ["e_cpu_s", "CPU time on E cores [s]", 4], ["cores_used", "CPUs used", 5]];
let matrix = null;
function experiments() {
  const e = D.experiments, tags = new Map();
  for (const t of D.traces) for (const [k, v] of Object.entries(t.tags || {})) { if (!tags.has(k)) tags.set(k, new Set()); tags.get(k).add(v); }
  const useful = [...tags.entries()].filter(([, v]) => v.size > 1).sort((x, y) => y[1].size - x[1].size).map((x) => x[0]);
  const processes = [...new Set(e.rows.map((r) => r[1]))];
  const total = (p) => e.rows.reduce((n, r) => n + (r[1] === p ? r[2] || 0 : 0), 0);
  processes.sort((x, y) => total(y) - total(x));
  if (!useful.length || !processes.length) return [h("h2", {}, "Experiments"), h("p", {}, "The tags of the traces do not differ.")];
  matrix = matrix || { row: useful[0], column: useful[1] || useful[0], process: processes[0], measure: "cpu_s" };
  const box = h("div", {});
  function fill() {
    const [, label, at] = MEASURES.find((m) => m[0] === matrix.measure), cells = new Map(), rowsOf = new Set(), columnsOf = new Set();
    for (const r of e.rows) {
      if (r[1] !== matrix.process) continue;
      const t = trace(r[0]).tags || {}, x = known(t[matrix.row]) ? t[matrix.row] : "(none)", y = known(t[matrix.column]) ? t[matrix.column] : "(none)";
      rowsOf.add(x); columnsOf.add(y);
      const key = JSON.stringify([x, y]);
      if (!cells.has(key)) cells.set(key, []);
      if (known(r[at])) cells.get(key).push(r[at]);
    }
    const median = (l) => { if (!l.length) return null; const s = l.slice().sort((x, y) => x - y), m = s.length >> 1; return s.length % 2 ? s[m] : (s[m - 1] + s[m]) / 2; };
    const sort = (s) => [...s].sort((x, y) => String(x).localeCompare(String(y), "en", { numeric: true }));
    const medians = [...cells.values()].map(median).filter(known), lo = Math.min(...medians), hi = Math.max(...medians);
    box.replaceChildren(h("div", { class: "scroll" }, h("table", { class: "heat" },
      h("thead", {}, h("tr", {}, h("th", {}, `${matrix.row} \\ ${matrix.column}`), sort(columnsOf).map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", {}, sort(rowsOf).map((x) => h("tr", {}, h("th", { scope: "row" }, x), sort(columnsOf).map((y) => {
        const l = cells.get(JSON.stringify([x, y])) || [], m = median(l);
        if (!known(m)) return h("td", { class: "soft" }, l.length ? "?" : "–");
        const part = hi > lo ? (m - lo) / (hi - lo) : .5;
        const say = `${matrix.row} ${x}, ${matrix.column} ${y}: median ${m}, from ${Math.min(...l)} to ${Math.max(...l)}, ${l.length} traces`;
        return h("td", { class: "num", "aria-label": say, style: { background: `color-mix(in srgb, ${colour(0)} ${Math.round(8 + part * 55)}%, ${css("--panel")})` }, on: { pointermove: (ev) => showTip(say, ev.clientX, ev.clientY), pointerleave: hideTip } }, m.toFixed(m >= 100 ? 1 : 2), h("span", { class: "soft" }, l.length > 1 ? ` ×${l.length}` : ""));
      })))))), h("p", { class: "soft" }, `${label} of ${matrix.process}: median of the traces in a cell.`),
    sqlBox(`FROM experiment_matrix('${matrix.row.replace(/'/g, "''")}', '${matrix.column.replace(/'/g, "''")}', measure := '${matrix.measure}', process := '${String(matrix.process).replace(/'/g, "''")}')`, "SQL for this matrix"));
  }
  fill();
  const pick = (key) => (v) => { matrix[key] = v; fill(); };
  return [h("h2", {}, "Experiments"), figure("Matrix", [select("rows", useful.map((t) => [t, t]), matrix.row, pick("row")), select("columns", useful.map((t) => [t, t]), matrix.column, pick("column")),
    select("process", processes.map((p) => [p, p]), matrix.process, pick("process")), select("measure", MEASURES.map((m) => [m[0], m[1]]), matrix.measure, pick("measure"))], box, sqlBox(e.sql))];
}

function power() {
  const p = D.power;
  const heads = p.groups.map(([traces]) => h("th", { scope: "col", title: traces.slice(0, 40).join("\n") }, traces.length === 1 ? traces[0] : `${traces[0]} and ${traces.length - 1} more`));
  const rows = p.settings.map(([name, cls, scheme], at) => h("tr", {}, h("th", { scope: "row" }, name, known(cls) ? h("span", { class: "soft" }, ` class ${cls}`) : null, known(scheme) ? h("div", { class: "soft" }, scheme) : null),
    p.groups.map(([, values]) => { const v = values[at]; return h("td", { class: v && v[1] !== "same" ? "changed" : "same" }, v && known(v[0]) ? v[0] : "–"); })));
  return [h("h2", {}, "Power settings that differ"), h("p", { class: "soft" }, `Compared with the first trace by name. Traces with the same settings share a column.${p.all > p.groups.length ? ` ${p.all - p.groups.length} more columns are left out.` : ""}`),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "setting"), heads)), h("tbody", {}, rows))), sqlBox(p.sql)];
}

function answers() {
  return [h("h2", {}, "Answers"), D.answers.map((a) => {
    const t = a.table, columns = t.columns.map((name, at) => ({ label: name, num: t.numeric[at], words: !t.numeric[at], key: (r) => { const v = r[at]; return known(v) && typeof v === "object" ? JSON.stringify(v) : v; } }));
    return h("section", {}, h("h3", {}, a.title, " ", h("span", { class: "soft" }, a.name)),
      a.unable ? h("p", { class: "soft" }, `${a.unable} of ${a.traces} traces cannot answer this`) : null,
      t.rows.length ? table(columns, t.rows) : h("p", {}, a.unable === a.traces && a.traces ? "Not answerable." : "Nothing found."),
      a.cut ? h("p", { class: "soft" }, `Only the first ${t.rows.length} rows are in this file.`) : null, sqlBox(a.sql));
  })];
}

/* ---- the frame ---- */

const tabs = [["overview", "Traces", true], ["findings", "Findings", true], ["compare", "Side by side", D.figures.filter((f) => f.kind === "tree").length > 1],
  ["experiments", "Experiments", D.experiments !== null && D.experiments.rows.length > 0], ["power", "Power", D.power !== null && D.power.settings.length > 0], ["answers", "Answers", D.answers.length > 0]].filter((t) => t[2]);
const VIEWS = { overview, findings, finding, trace: tracePage, compare, experiments, power, answers };
const nav = h("nav", { "aria-label": "Parts of the report" }, tabs.map(([id, text]) => h("a", { href: `#${id}` }, text)));
const main = h("main", { tabindex: -1 });
const theme = h("button", { type: "button", "aria-label": "Light or dark", on: { click: () => { setTheme(dark() ? "light" : "dark"); render(); } } });
function setTheme(name) { document.documentElement.dataset.theme = name; theme.textContent = name === "dark" ? "Light" : "Dark"; }
setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
app.append(h("header", { class: "top" }, h("h1", {}, "etwas report"), nav, theme), main);

function render() {
  const [id, ...args] = (location.hash.slice(1) || "overview").split("/");
  const view = Object.hasOwn(VIEWS, id) ? VIEWS[id] : overview;
  hideTip();
  for (const u of charts.splice(0)) u.destroy();
  main.replaceChildren();
  add(main, [view(...args.map(Number))]);
  const current = { finding: "findings", trace: "overview" }[id] || id;
  for (const a of nav.children) { if (a.getAttribute("href") === `#${current}`) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current"); }
  if (D.figures_left_out && id === "overview") main.append(h("p", { class: "soft" }, `${D.figures_left_out} figures were left out to keep this file small; etwas html --trace NAME has them.`));
}
addEventListener("hashchange", () => { render(); scrollTo(0, 0); main.focus({ preventScroll: true }); });
let before = null;
addEventListener("beforeprint", () => { if (dark()) { before = "dark"; setTheme("light"); render(); } });
addEventListener("afterprint", () => { if (before) { setTheme(before); before = null; render(); } });
render();
})();

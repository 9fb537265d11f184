"use strict";
// Text from the data is inserted via textContent only, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const PAGE = 200;  // sentences listed at once
const CLASSES = 8;  // maximum number of rows in a table of probabilities
const state = { shown: PAGE, chosen: null, found: [] };
const hasGold = data.items.some((item) => item.gold[item.root] >= 0);
const hasPhrases = data.items.some((item) => item.gold.filter((label) => label >= 0).length > 1);

const rightOf = (item) => item.gold[item.root] < 0 || item.gold[item.root] === item.labels[item.root];
const phrasesWrong = (item) => item.gold.filter((label, n) => label >= 0 && label !== item.labels[n]).length;
const sure = (item) => item.probabilities[item.root][item.labels[item.root]];
const sentences = (count) => `${count} sentence${count === 1 ? "" : "s"}`;
const percent = (share) => (100 * share).toFixed(1) + " %";

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function badge(label) {
  const made = element("span", { class: "badge" }, data.names[label]);
  made.style.background = data.colors[label].fill;
  made.style.color = data.colors[label].text;
  return made;
}

function fill(select, options) {
  select.replaceChildren(...options.map(([value, text]) => element("option", { value }, text)));
}

// The list

function matches(item) {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const which = byId("which").value;
  const predicted = byId("predicted").value, gold = byId("gold").value;
  return words.every((word) => item.text.includes(word))
    && (which === "all" || (which === "wrong" && !rightOf(item)) || (which === "right" && rightOf(item))
      || (which === "phrases" && phrasesWrong(item) > 0))
    && (predicted === "" || item.labels[item.root] === Number(predicted))
    && (gold === "" || item.gold[item.root] === Number(gold));
}

const ORDERS = {
  given: (a, b) => a.number - b.number,
  surest: (a, b) => sure(b) - sure(a) || a.number - b.number,
  unsure: (a, b) => sure(a) - sure(b) || a.number - b.number,
  longest: (a, b) => b.words.length - a.words.length || a.number - b.number,
};

function update() {
  state.shown = PAGE;
  state.found = data.items.filter(matches).sort(ORDERS[byId("order").value]);
  byId("found").textContent = `${state.found.length} of ${sentences(data.items.length)}`;
  list();
  if (!state.found.includes(state.chosen)) choose(state.found[0] ?? null);
}

function list() {
  byId("items").replaceChildren(...state.found.slice(0, state.shown).map((item) => {
    const gold = item.gold[item.root];
    const badges = element("div", { class: "badges" }, `${item.number}`, badge(item.labels[item.root]), percent(sure(item)));
    if (gold >= 0 && !rightOf(item)) badges.append(element("span", { class: "wrong" }, "≠ gold"), badge(gold));
    const button = element("button", { type: "button", "data-number": item.number }, badges, item.words.join(" "));
    button.addEventListener("click", () => choose(item));
    return element("li", {}, button);
  }));
  byId("more").hidden = state.shown >= state.found.length;
  mark();
}

function mark() {
  for (const button of byId("items").querySelectorAll("button")) {
    button.setAttribute("aria-current", state.chosen?.number === Number(button.dataset.number));
  }
}

// The selected sentence

function choose(item) {
  state.chosen = item;
  tip(null);
  const place = state.found.indexOf(item);
  if (place >= state.shown) { state.shown = place + PAGE; list(); }
  mark();
  byId("text").textContent = item ? item.words.join(" ") : "No sentence matches.";
  // Without a tree there is one node: its probabilities are all there is to show.
  byId("picture").replaceChildren(...(item ? [item.parents.length > 1 ? picture(item) : shares(item, item.root)] : []));
  if (item) history.replaceState(null, "", `#${item.number}`);
}

// Chooses the sentence whose number is in an address.
function follow(hash) {
  const item = data.items[Number(hash.slice(1)) - 1];
  if (!item) return;
  choose(item);
  byId("items").querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
}

const measure = document.createElement("canvas").getContext("2d");
function width(text, size) {
  measure.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
  return measure.measureText(text).width;
}

// Root on top, words in a line below; a node without a word is midway between its outermost children.
function picture(item) {
  const WORD = 15, LABEL = 12, GAP = 14, HEIGHT = 22, MARGIN = 12;
  const isWord = item.positions.map((position) => position >= 0);
  const captions = item.labels.map((label, n) => {
    const gold = item.gold[n];
    return gold >= 0 && gold !== label ? `${label} ≠ ${gold}` : `${label}`;
  });
  const boxes = captions.map((text) => Math.max(HEIGHT, width(text, LABEL) + 12));
  const columns = item.words.map((word) => Math.max(26, width(word, WORD)) + GAP);
  // The column of a word fits its node and a share of every box above it, so that boxes never overlap.
  item.spans.forEach((span, n) => {
    const [begin, end] = isWord[n] ? [item.positions[n], item.positions[n] + 1] : span;
    for (let place = begin; place < end; place++) columns[place] = Math.max(columns[place], (boxes[n] + GAP) / (end - begin));
  });
  const borders = [MARGIN];
  for (const column of columns) borders.push(borders[borders.length - 1] + column);
  const middle = (position) => (borders[position] + borders[position + 1]) / 2;
  const deepest = item.depths.reduce((a, b) => Math.max(a, b), 0);
  const total = borders[borders.length - 1];
  const row = Math.min(64, Math.max(40, total * 0.45 / (deepest + 1)));
  const low = item.parents.map(() => Infinity), high = item.parents.map(() => -Infinity);
  const x = item.parents.map(() => 0);
  const order = item.parents.map((_, n) => n).sort((a, b) => item.depths[b] - item.depths[a]);
  for (const n of order) {
    if (isWord[n]) x[n] = middle(item.positions[n]);
    else {
      const [begin, end] = item.spans[n], half = (boxes[n] + GAP) / 2;
      x[n] = Math.min(Math.max((low[n] + high[n]) / 2, borders[begin] + half), borders[end] - half);
    }
    const parent = item.parents[n];
    if (parent >= 0) { low[parent] = Math.min(low[parent], x[n]); high[parent] = Math.max(high[parent], x[n]); }
  }
  const y = item.depths.map((depth) => MARGIN + HEIGHT / 2 + row * depth);
  const ground = MARGIN + HEIGHT / 2 + row * (deepest + 1);
  const right = total + MARGIN, bottom = ground + WORD + MARGIN;
  const svg = shape("svg", { width: right, height: bottom, viewBox: `0 0 ${right} ${bottom}`, role: "group" });
  item.parents.forEach((parent, n) => {
    if (parent >= 0) svg.append(shape("line", { class: "edge", x1: x[n], y1: y[n], x2: x[parent], y2: y[parent] }));
    if (isWord[n]) svg.append(shape("line", { class: "leader", x1: x[n], y1: y[n], x2: x[n], y2: ground - WORD * 0.8 }));
  });
  item.words.forEach((word, place) => svg.append(shape("text", { x: middle(place), y: ground, "font-size": WORD }, word)));
  item.parents.forEach((_, n) => {
    const off = item.gold[n] >= 0 && item.gold[n] !== item.labels[n];
    const node = shape("g", { class: off ? "node off" : "node", tabindex: 0, "data-node": n });
    const color = data.colors[item.labels[n]];
    node.append(shape("rect", { x: x[n] - boxes[n] / 2, y: y[n] - HEIGHT / 2, width: boxes[n], height: HEIGHT, rx: HEIGHT / 2, fill: color.fill }));
    node.append(shape("text", { x: x[n], y: y[n], "font-size": LABEL, fill: color.text }, captions[n]));
    const show = () => tip(item, n, node);
    node.addEventListener("mouseenter", show);
    node.addEventListener("focus", show);
    node.addEventListener("mouseleave", () => tip(null));
    node.addEventListener("blur", () => tip(null));
    svg.append(node);
  });
  return svg;
}

// A table of class probabilities; of many classes, only the most probable.
function shares(item, n) {
  const row = (name, share) => element("tr", {}, element("td", {}, name),
    element("td", {}, element("meter", { min: 0, max: 1, value: share })), element("td", {}, percent(share)));
  const all = item.probabilities[n].map((share, label) => ({ share, label }));
  const shown = all.length > CLASSES ? [...all].sort((a, b) => b.share - a.share).slice(0, CLASSES - 1) : all;
  const rows = shown.map(({ share, label }) => row(badge(label), share));
  const rest = Math.max(0, shown.reduce((left, each) => left - each.share, 1));
  if (shown.length < all.length) rows.push(row(`${all.length - shown.length} others`, rest));
  return element("table", { class: "shares" }, ...rows);
}

function tip(item, n, node) {
  const box = byId("tip");
  box.hidden = !item;
  if (!item) return;
  const [begin, end] = item.spans[n];
  const gold = item.gold[n];
  const note = gold < 0 ? "no gold label" : gold === item.labels[n] ? "matches gold" : "gold: " + data.names[gold];
  box.replaceChildren(element("b", {}, item.words.slice(begin, end).join(" ")), shares(item, n), note);
  const place = node.getBoundingClientRect();
  const beyond = place.right + 8 + box.offsetWidth > innerWidth;
  const left = beyond ? place.left - box.offsetWidth - 8 : place.right + 8;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${Math.max(8, Math.min(place.top, innerHeight - box.offsetHeight - 8))}px`;
}

// The static parts

function matrix() {
  const counts = data.names.map(() => data.names.map(() => 0));
  for (const item of data.items) {
    if (item.gold[item.root] >= 0) counts[item.gold[item.root]][item.labels[item.root]] += 1;
  }
  const head = element("tr", {}, element("th", {}, "gold \\ predicted"), ...data.names.map((name) => element("th", {}, name)));
  const rows = counts.map((row, gold) => {
    const total = Math.max(1, row.reduce((a, b) => a + b, 0));
    return element("tr", {}, element("th", {}, data.names[gold]), ...row.map((count, predicted) => {
      const button = element("button", { type: "button" }, `${count}`);
      const color = data.shades[Math.round(count / total * (data.shades.length - 1))];
      button.style.background = color.fill;
      button.style.color = color.text;
      button.addEventListener("click", () => {
        byId("search").value = "";
        byId("which").value = "all";
        byId("gold").value = `${gold}`;
        byId("predicted").value = `${predicted}`;
        update();
      });
      return element("td", {}, button);
    }));
  });
  byId("matrix").append(element("table", {}, head, ...rows));
}

function start() {
  data.items.forEach((item, index) => {
    item.number = index + 1;
    item.text = item.words.join(" ").toLowerCase();
  });
  const judged = data.items.filter((item) => item.gold[item.root] >= 0);
  const right = judged.filter(rightOf).length;
  byId("summary").textContent = hasGold
    ? `${sentences(data.items.length)}; ${right} of ${judged.length} with a gold label ${right === 1 ? "is" : "are"} right (${percent(right / judged.length)})`
    : `${sentences(data.items.length)}, without gold labels`;
  fill(byId("which"), hasGold
    ? [["all", "all"], ["wrong", "mistakes"], ["right", "no mistakes"], ...(hasPhrases ? [["phrases", "with a wrong phrase"]] : [])]
    : [["all", "all"]]);
  const classes = [["", "any"], ...data.names.map((name, label) => [`${label}`, name])];
  fill(byId("predicted"), classes);
  fill(byId("gold"), classes);
  byId("of-gold").hidden = !hasGold;
  byId("matrix").hidden = !hasGold;
  if (hasGold) matrix();
  byId("legend").append(...data.names.map((_, label) => element("span", {}, `${label} `, badge(label))));
  byId("legend").hidden = data.items.every((item) => item.parents.length === 1);
  const one = Math.min(3, data.names.length - 1), other = Math.min(1, data.names.length - 2);
  if (hasGold) byId("legend").append(`${one} ≠ ${other}: predicted ${one}, gold ${other}; `);
  byId("legend").append("hover over a node for its probabilities");
  for (const id of ["search", "which", "predicted", "gold", "order"]) byId(id).addEventListener("input", update);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").addEventListener("reset", () => setTimeout(update));
  byId("more").addEventListener("click", () => { state.shown += PAGE; list(); });
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey || /INPUT|SELECT/.test(event.target.tagName)) return;
    const next = state.found[state.found.indexOf(state.chosen) + step];
    if (!next) return;
    event.preventDefault();
    choose(next);
    byId("items").querySelector("[aria-current=true]").focus();
  });
  const address = location.hash;
  update();
  follow(address);
  addEventListener("hashchange", () => follow(location.hash));
}

start();

"use strict";
// The page is complete without this script; it adds highlighting, sorting, the candidates'
// trees and "try a case". Names are only ever set as text.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const page = data.page, diff = data.diff ?? data, g = page.geometry;
  const sides = ["old", "new"].filter((side) => page.trees[side]), single = sides.length === 1;
  const trees = Object.fromEntries(sides.map((side) => [side, { ...diff.trees[side], ...page.trees[side] }]));
  const SVG = "http://www.w3.org/2000/svg";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const WORDS = { k: "kept", m: "moved", r: "relabelled", a: "added", d: "dropped" };
  const TITLES = { kept: "Kept", moved: "Moved", relabelled: "Relabelled", added: "Added", dropped: "Dropped" };

  // -- making elements ---------------------------------------------------------------
  function make(tag, attributes = {}, ...children) {
    const inSvg = ["svg", "g", "text", "tspan", "rect", "path", "circle", "title"].includes(tag);
    const node = inSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const numberText = (value) => {
    const short = Number(value.toPrecision(6));
    return String(short).replace("e+", "e").replace(/-/g, "−");
  };
  // The number a threshold is told by, and whether it lies just below that (words.py).
  const shownBound = (value) => {
    const tiny = value === -Number.MIN_VALUE || value === -(2 ** -149);
    const short = tiny ? 0 : Number.isFinite(value) ? Number(value.toPrecision(6)) : NaN;
    for (const kind of [(x) => x, Math.fround]) {
      // Of two neighbours the middle is one of them.
      const above = kind(short), middle = kind(value / 2 + above / 2);
      if (kind(value) === value && value < above && (middle === value || middle === above)) return [short, true];
    }
    return [value, false];
  };
  const percent = (share, digits = null) => {
    if (share === null || share === undefined) return "–";
    // What is not nothing never reads 0 %, what is not everything never 100 % (words.py).
    const within = share > 1e-9 && share < 1 - 1e-9, reads = (n) => Number((100 * share).toFixed(n));
    let places = digits ?? (Math.abs(share) > 0 && Math.abs(share) < 0.0995 ? 1 : 0);
    if (digits === null && within && reads(places) === 100) places = 1;
    if (within && reads(places) === 0) return `<\u202f${(10 ** -places).toFixed(places)}\u202f%`;
    if (within && reads(places) === 100) return `>\u202f${(100 - 10 ** -places).toFixed(places)}\u202f%`;
    return (100 * share).toFixed(places).replace("-", "−") + "\u202f%";
  };
  const listed = (words, last = "or") =>
    words.length === 1 ? words[0] : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
  const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
  const isolate = (text) => (RTL.test(text) ? `\u2068${text}\u2069` : text);
  const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
  const MARK = /\p{Mn}|\p{Me}|\p{Cf}/u;
  const columns = (text) => [...text].reduce((n, c) => n + (MARK.test(c) ? 0 : WIDE.test(c) ? 2 : 1), 0);
  function shorten(text, room) {
    const whole = text.replace(/[\u2066-\u2069]/g, "");
    if (columns(whole) <= room) return whole;
    let kept = "", used = 0;
    for (const c of whole) {
      used += columns(c);
      if (used > room - 1) break;
      kept += c;
    }
    return kept.trimEnd() + "…";
  }

  // -- trees -------------------------------------------------------------------------
  const threshold = (t) => (t === "inf" ? Infinity : t === "-inf" ? -Infinity : t);

  // A candidate's compact form (see compact_tree) as a tree like the two main ones.
  function unpack(compact, name) {
    const tree = { name, left: [], right: [], feature: compact.f, threshold: [], categories: [],
      missing_left: [], unseen_left: [], label: [], predicted: [], rule: [], share: [], status: {}, against: [], observed: [] };
    let at = 0, t = 0, c = 0, m = 0, leaf = 0;
    // Nodes come in preorder: a loop with a stack, since trees may be deep.
    const open = [];
    for (at = 0; at < compact.f.length; at += 1) {
      const split = compact.f[at] >= 0;
      tree.left.push(-1); tree.right.push(-1);
      if (open.length) {
        const parent = open[open.length - 1];
        if (tree.left[parent] < 0) tree.left[parent] = at;
        else { tree.right[parent] = at; open.pop(); }
      }
      if (split) {
        const byCategory = diff.features[compact.f[at]].categories !== null;
        tree.threshold.push(byCategory ? null : compact.t[t++]);
        tree.categories.push(byCategory ? compact.c[c++] : null);
        tree.missing_left.push(Number(compact.m[m]) & 1);
        tree.unseen_left.push(Number(compact.m[m++]) >> 1);
        tree.label.push(null); tree.predicted.push(null); tree.rule.push(null);
        open.push(at);
      } else {
        tree.threshold.push(null); tree.categories.push(null); tree.missing_left.push(0); tree.unseen_left.push(0);
        tree.label.push(compact.l[leaf]);
        const shown = compact.v[leaf];
        tree.predicted.push({ words: page.classes === null ? numberText(shown) : percent(shown, 1) });
        tree.rule.push(compact.n[leaf] || null);
        tree.status[compact.n[leaf]] = WORDS[compact.s[leaf]] || "kept";
        leaf += 1;
      }
      tree.share.push(null);
    }
    tree.n_rules = leaf;
    tree.folded = foldDeep(tree, 24);
    return tree;
  }

  function leavesBelow(tree) {
    const counts = tree.left.map(() => 1), order = [], stack = [0];
    while (stack.length) {
      const node = stack.pop();
      if (tree.left[node] >= 0) { order.push(node); stack.push(tree.left[node], tree.right[node]); }
    }
    for (const node of order.reverse()) counts[node] = counts[tree.left[node]] + counts[tree.right[node]];
    return counts;
  }

  // Open branches from the root, level by level, until no more ends fit.
  function foldDeep(tree, most) {
    const below = leavesBelow(tree);
    if (below[0] <= most) return [];
    let ends = 1;
    const queue = [0];
    while (queue.length && ends < most) {
      const node = queue.shift();
      ends += 1;
      for (const child of [tree.left[node], tree.right[node]]) if (tree.left[child] >= 0) queue.push(child);
    }
    return queue;
  }

  function walk(tree, folded) {
    const below = leavesBelow(tree), closed = new Set(folded), out = [];
    const stack = [[0, -1, false, 0]];
    while (stack.length) {
      const [node, parent, isLeft, depth] = stack.pop();
      const leaf = tree.left[node] < 0;
      const hidden = !leaf && closed.has(node) ? below[node] : 0;
      out.push({ node, parent, isLeft, depth, hidden, leaf, line: out.length });
      if (!leaf && !hidden) {
        stack.push([tree.right[node], node, false, depth + 1]);
        stack.push([tree.left[node], node, true, depth + 1]);
      }
    }
    return out;
  }

  // A condition in words; the phrases are the server's, and so is the choice (words.py).
  // state: { low, high, allowed (codes, or null), missing: whether missing values pass, null if there are none,
  // unseen: the same of categories never met }.
  const fill = (phrase, places) => phrase.replace(/\{(\w+)\}/g, (_, place) => places[place]);
  // codes: the categories it is a choice of, by default every one.
  function conditionWords(j, state, say, codes = null) {
    const feature = diff.features[j], name = isolate(feature.name);
    const choice = codes ?? (feature.categories ? [...feature.categories.keys()] : []);
    const { low, high, allowed, missing, unseen } = state;
    const odd = [...(missing ? ["missing"] : []), ...(unseen ? ["never met"] : [])];
    const orOdd = (text) => (odd.length ? fill(say.or_missing, { text, odd: odd.join(" or ") }) : text);
    if (allowed ? !allowed.length : !(low < high)) {
      const alone = unseen && !missing ? "a category never met" : odd.join(" or ") || "missing";
      return say.nobody && !odd.length ? fill(say.nobody, { name }) : fill(say.missing, { name, odd: alone });
    }
    if (allowed ? allowed.length === choice.length && unseen !== false : low === -Infinity && high === Infinity)
      return fill(missing === false ? say.present : say.any, { name });
    if (allowed) {
      const every = feature.categories.map(isolate);
      const words = allowed.map((code) => every[code]);
      const start = choice.indexOf(allowed[0]), end = choice.indexOf(allowed.at(-1));
      if (feature.ordered && words.length > 1 && end - start < words.length) {
        const run = start === 0 ? "up_to" : end === choice.length - 1 ? "from" : "span";
        return orOdd(fill(say[run], { name, first: words[0], last: words.at(-1) }));
      }
      const others = choice.filter((code) => !allowed.includes(code)).map((code) => every[code]);
      if (others.length && words.length > others.length + 1 && unseen !== false) {
        const text = fill(say.but, { name, values: listed(others) });
        return missing ? fill(say.or_missing_after_but, { text }) : text;
      }
      return fill(say.is, { name, values: listed([...words, ...odd]) });
    }
    const kind = low === -Infinity ? "at_most" : high === Infinity ? "over" : "between";
    const [lower, fromLow] = shownBound(low), [upper, belowHigh] = shownBound(high);
    return orOdd(fill(say[kind], { name, lower: numberText(lower), upper: numberText(upper),
      until: belowHigh ? "<" : say.no_more, after: fromLow ? say.no_more : "<", beyond: fromLow ? say.no_less : ">" }));
  }

  // What one side of a split lets pass of what passed before.
  function narrowed(state, tree, node, isLeft) {
    const missing = state.missing && Boolean(tree.missing_left[node]) === isLeft;
    const unseen = state.unseen && Boolean(tree.unseen_left[node]) === isLeft;
    if (state.allowed)
      return { ...state, missing, unseen, allowed: state.allowed.filter((code) => tree.categories[node].includes(code) === isLeft) };
    const t = threshold(tree.threshold[node]);
    return isLeft ? { ...state, missing, high: Math.min(state.high, t) } : { ...state, missing, low: Math.max(state.low, t) };
  }
  const unrestricted = (feature, canMiss = feature.missing, canBeNew = feature.unseen) => ({ low: -Infinity, high: Infinity,
    missing: canMiss || null, unseen: canBeNew || null, allowed: feature.categories ? [...feature.categories.keys()] : null });

  function branchWords(tree, parent, isLeft) {
    const j = tree.feature[parent], feature = diff.features[j];
    const reach = (tree.reach ??= reaching(tree))[parent];
    // A threshold of infinity asks only whether there is a value.
    const canMiss = (feature.missing && reach.missing) || !Number.isFinite(threshold(tree.threshold[parent]) ?? 0);
    const state = unrestricted(feature, canMiss, feature.unseen && reach.unseen);
    if (state.allowed) state.allowed = reach.codes;
    return [feature.name, conditionWords(j, narrowed(state, tree, parent, isLeft), page.phrases.branch, reach.codes)];
  }

  // Categories of its feature that reach each split, and whether missing and new ones do (tree_words.py).
  function reaching(tree) {
    const out = {}, stack = [[0, new Map(), new Set(), new Set()]];
    while (stack.length) {
      const [node, codes, elsewhere, unseenElsewhere] = stack.pop();
      if (tree.left[node] < 0) continue;
      const j = tree.feature[node], sets = tree.categories[node];
      const here = codes.get(j) ?? [...(diff.features[j].categories ?? []).keys()];
      out[node] = { codes: sets === null ? null : here, missing: !elsewhere.has(j), unseen: !unseenElsewhere.has(j) };
      for (const [child, isLeft] of [[tree.left[node], true], [tree.right[node], false]]) {
        const below = sets === null ? codes : new Map(codes).set(j, here.filter((code) => sets.includes(code) === isLeft));
        const gone = (goesLeft, before) => (Boolean(goesLeft[node]) === isLeft ? before : new Set(before).add(j));
        stack.push([child, below, gone(tree.missing_left, elsewhere), gone(tree.unseen_left, unseenElsewhere)]);
      }
    }
    return out;
  }

  const ruleOutcome = (half) => (half.label === null ? half.predicted.words : page.classes[diff.classes.indexOf(half.label)]);
  const conditionsOf = (half) => (half.conditions.length ? half.conditions.map((c) => c.words) : ["everyone"]);
  const signs = (text) => text.replaceAll(" <= ", " ≤ ").replaceAll(" >= ", " ≥ ").replace(/(?<![\w.])-(?=\d)/g, "−");

  function outcomeWords(tree, node) {
    const predicted = tree.predicted[node].words;
    return page.classes === null ? [predicted, ""] : [page.classes[tree.label[node]], predicted];
  }

  function marker(status, x, y) {
    const shapes = {
      kept: ["circle", { cx: x, cy: y, r: 4 }],
      moved: ["path", { d: `M${x - 5} ${y + 4}h10l-5 -9z` }],
      relabelled: ["path", { d: `M${x} ${y - 6}l6 6l-6 6l-6 -6z` }],
      added: ["path", { d: `M${x - 5} ${y}h10M${x} ${y - 5}v10` }],
      dropped: ["path", { d: `M${x - 4} ${y - 4}l8 8M${x + 4} ${y - 4}l-8 8` }],
    };
    return make("g", { class: `mark ${status}` }, make(...shapes[status]));
  }

  function fit(name, condition, room) {
    const most = Math.max(Math.floor(room), 12);
    const short = shorten(condition, Math.max(Math.floor((most * 3) / 5), most - columns(name) - 1));
    return [shorten(name, Math.max(most - columns(short) - 1, 4)), short];
  }

  // Draw a tree as the server does (svg.py).
  function drawTree(tree, { side, statuses, plain, folded }) {
    const placed = walk(tree, folded);
    const where = new Map(placed.map((p) => [p.node, p]));
    const depth = Math.max(...placed.map((p) => p.depth));
    const indent = Math.min(g.indent, 190 / Math.max(depth, 1));
    const height = g.head + g.line * placed.length + 4;
    const svg = make("svg", { class: "tree", viewBox: `0 0 ${g.width} ${height}`, role: "group",
      "aria-label": `${tree.name}: ${tree.n_rules} rules`, "data-side": side });
    const seen = tree.observed.some((cell) => cell), counted = tree.share.some((cell) => cell);
    const heads = [[g.mark - 4, "start", "Rule"], [g.label, "start", page.classes ? "Decision" : "Prediction"],
      [g.value, "end", page.classes ? "Predicted" : ""], [g.share, "end", seen ? "Observed" : counted ? "Rows" : ""]];
    for (const [x, anchor, text] of heads)
      if (text) svg.append(make("text", { class: "t-head", x, y: 17, "text-anchor": anchor }, text));
    for (const p of placed) {
      const y = g.head + g.line * p.line + g.line / 2, x = g.margin + indent * p.depth;
      const rule = p.leaf ? tree.rule[p.node] : null;
      const status = rule === null ? "" : statuses[rule] || "kept";
      const row = make("g", { class: `row ${p.leaf ? "leaf" : p.hidden ? "fold" : "split"} ${status}`, "data-node": p.node });
      if (rule !== null) row.setAttribute("data-rule", rule);
      let [name, condition] = p.parent < 0 ? ["Everyone", ""] : branchWords(tree, p.parent, p.isLeft);
      row.append(make("title", {}, `${isolate(name)} ${condition}`.trim()));
      row.append(make("rect", { class: "t-back", x: 0, y: g.head + g.line * p.line, width: g.width, height: g.line }));
      if (p.parent >= 0) {
        const above = where.get(p.parent);
        const trunk = g.margin + indent * above.depth + 3;
        const start = g.head + g.line * above.line + g.line / 2 + 7;
        row.append(make("path", { class: "t-line", d: `M${trunk} ${start}V${y}H${x - 2}` }));
      }
      [name, condition] = fit(name, condition, (g.mark - 14 - x) / g.letter);
      row.append(make("text", { class: "t-text", x, y: y + 4.5 },
        make("tspan", { class: "t-name" }, isolate(name)), ` ${condition}`));
      if (p.hidden) row.append(make("text", { class: "t-fold", x: g.mark - 4, y: y + 4.5 }, `+${p.hidden} rules`));
      else if (p.leaf) {
        const [decision, rate] = outcomeWords(tree, p.node);
        if (rule !== null) {
          if (!plain) row.append(marker(status, g.mark, y));
          row.append(make("text", { class: "t-number", x: g.mark + 10, y: y + 4.5 }, String(rule)));
        }
        row.append(make("text", { class: "t-label", x: g.label, y: y + 4.5 },
          shorten(decision, g.label_columns) + (tree.against.includes(p.node) ? "*" : "")));
        if (rate) row.append(make("text", { class: "t-value", x: g.value, y: y + 4.5, "text-anchor": "end" }, rate));
        if (seen || counted)
          row.append(make("text", { class: "t-share", x: g.share, y: y + 4.5, "text-anchor": "end" },
            (seen ? tree.observed : tree.share)[p.node]?.words ?? "–"));
      }
      svg.append(row);
    }
    return svg;
  }

  // What a path demands of each feature, in words.
  function ruleWords(tree, leaf) {
    const parents = new Map();
    tree.left.forEach((child, node) => {
      if (child >= 0) { parents.set(child, [node, true]); parents.set(tree.right[node], [node, false]); }
    });
    const steps = [];
    for (let node = leaf; parents.has(node); node = parents.get(node)[0]) steps.unshift(parents.get(node));
    const states = new Map();
    for (const [node, isLeft] of steps) {
      const j = tree.feature[node];
      states.set(j, narrowed(states.get(j) || unrestricted(diff.features[j]), tree, node, isLeft));
    }
    const out = [];
    for (const j of [...states.keys()].sort((a, b) => a - b)) {
      const feature = diff.features[j], s = states.get(j);
      const anyone = s.allowed ? s.allowed.length === feature.categories.length : s.low === -Infinity && s.high === Infinity;
      if (!anyone || (feature.missing && !s.missing) || s.unseen === false) out.push(conditionWords(j, s, page.phrases.rule));
    }
    return out.length ? out : ["everyone"];
  }

  // -- partners light up ---------------------------------------------------------------
  const statuses = Object.fromEntries(diff.rules.map((row) => [row.number, row.status]));
  const texts = Object.fromEntries(diff.rules.map((row) => [row.number, row]));
  let pinned = null;

  function light(rule) {
    for (const node of all(".lit")) node.classList.remove("lit");
    if (rule === null) return;
    for (const node of all(`#trees [data-rule="${rule}"], #rule-table [data-rule="${rule}"]`)) node.classList.add("lit");
  }

  function ruleLabel(rule, side) {
    const row = texts[rule], half = row[side];
    const other = single ? "" : side === "old" ? page.names.new : page.names.old;
    const change = single ? "" : `, ${TITLES[row.status].toLowerCase()}`;
    const partner = other && row[side === "old" ? "new" : "old"] ? `; partner in the ${other.toLowerCase()}` : "";
    return `Rule ${rule}${change}: ${conditionsOf(half).join(" and ")}, then ${ruleOutcome(half)}${partner}`;
  }

  function enliven(svg, side) {
    for (const row of all(".row.leaf[data-rule]", svg)) {
      const rule = row.dataset.rule;
      row.setAttribute("tabindex", "0");
      row.setAttribute("role", "button");
      row.setAttribute("aria-pressed", String(pinned === rule));
      row.setAttribute("aria-label", ruleLabel(rule, side));
      row.addEventListener("mouseenter", () => light(rule));
      row.addEventListener("mouseleave", () => light(pinned));
      row.addEventListener("focus", () => light(rule));
      row.addEventListener("blur", () => light(pinned));
      press(row, () => {
        pinned = pinned === rule ? null : rule;
        for (const other of all(".row.leaf[data-rule]", document.getElementById("trees")))
          other.setAttribute("aria-pressed", String(other.dataset.rule === pinned));
        light(pinned);
      });
    }
    for (const row of all(".row.fold", svg)) {
      const count = row.querySelector(".t-fold").textContent;
      row.setAttribute("tabindex", "0");
      row.setAttribute("role", "button");
      row.setAttribute("aria-label", `${row.querySelector("title").textContent}: show ${count.replace("+", "")}`);
      press(row, () => open(side, Number(row.dataset.node)));
    }
  }

  function press(node, act) {
    node.addEventListener("click", act);
    node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(event); }
    });
  }

  const folded = Object.fromEntries(sides.map((side) => [side, trees[side].folded]));

  // Unfold one branch: it opens by two levels or so, and what is below is folded in turn.
  function open(side, node) {
    const tree = trees[side];
    const inside = subtree(tree, node);
    folded[side] = folded[side].filter((n) => n !== node);
    if (inside.ends > 16) folded[side].push(...inside.level);
    redraw(side, node);
  }

  function subtree(tree, root) {
    const below = leavesBelow(tree), queue = [root];
    let ends = 1;
    while (queue.length && ends < 12) {
      const node = queue.shift();
      ends += 1;
      for (const child of [tree.left[node], tree.right[node]]) if (tree.left[child] >= 0) queue.push(child);
    }
    return { ends: below[root], level: queue };
  }

  function redraw(side, focusNode) {
    const figure = document.getElementById(`tree-${side}`);
    const svg = drawTree(trees[side], { side, statuses, plain: single, folded: folded[side] });
    figure.querySelector("svg.tree").replaceWith(svg);
    enliven(svg, side);
    if (!folded[side].length) figure.querySelector(".folded-note")?.remove();
    const first = focusNode === undefined ? null : svg.querySelector(`[data-node="${focusNode}"] ~ .row[tabindex]`);
    if (first) first.focus();
    showCase();
  }

  for (const svg of all("#trees svg.tree")) enliven(svg, svg.dataset.side);
  for (const button of all(".unfold"))
    button.addEventListener("click", () => { folded[button.dataset.side] = []; redraw(button.dataset.side, 0); });
  for (const row of all("#rule-table tbody tr")) {
    row.addEventListener("mouseenter", () => light(row.dataset.rule));
    row.addEventListener("mouseleave", () => light(pinned));
  }

  // -- tables sort and filter ----------------------------------------------------------
  function sortable(table) {
    const heads = all("thead th[data-sort]", table);
    const body = table.tBodies[0];
    for (const head of heads) {
      const button = make("button", { type: "button" }, ...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const numeric = head.dataset.sort === "number";
        const key = (row) => {
          const text = row.cells[head.cellIndex].textContent.trim();
          if (!numeric) return text;
          const value = parseFloat(text.replace(/^[<>≤≥]\s*/, "").replace(/,/g, "").replace("−", "-"));
          return Number.isNaN(value) ? null : value;
        };
        const keyed = [...body.rows].map((row, i) => ({ row, i, key: key(row) }));
        keyed.sort((a, b) => {
          // What has no number stays at the end, whichever way.
          if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.i - b.i;
          const order = numeric ? a.key - b.key : a.key.localeCompare(b.key, "en", { numeric: true });
          return (up ? order : -order) || a.i - b.i;
        });
        body.append(...keyed.map((item) => item.row));
      });
    }
  }
  for (const table of all("#rule-table, #candidate-table")) sortable(table);

  const statusFilter = document.getElementById("filter-status");
  const textFilter = document.getElementById("filter-text");
  function filter() {
    const status = statusFilter ? statusFilter.value : "";
    const text = textFilter.value.trim().toLowerCase();
    let shown = 0;
    const rows = all("#rule-table tbody tr");
    for (const row of rows) {
      const fits = (!status || row.dataset.status === status) && row.textContent.toLowerCase().includes(text);
      row.hidden = !fits;
      shown += fits ? 1 : 0;
    }
    document.getElementById("filter-count").textContent = `${shown} of ${rows.length} rules`;
  }
  statusFilter?.addEventListener("change", filter);
  textFilter.addEventListener("input", filter);
  textFilter.form.addEventListener("submit", (event) => event.preventDefault());
  filter();

  // -- the frontier ----------------------------------------------------------------------
  const frontier = page.frontier && { ...page.frontier, candidates: data.candidates, trees: data.candidate_trees };

  function showCandidate(i) {
    const c = frontier.candidates[i];
    const card = document.getElementById("candidate");
    for (const node of all(".point.shown, tr.is-shown")) node.classList.remove("shown", "is-shown");
    document.querySelector(`.frontier [data-candidate="${i}"]`)?.classList.add("shown");
    document.querySelector(`#candidate-table tr[data-candidate="${i}"]`)?.classList.add("is-shown");
    const chosen = frontier.chosen === null ? null : frontier.candidates[frontier.chosen];
    const facts = make("dl", { class: "facts" });
    const fact = (label, value, detail = "") =>
      facts.append(make("div", {}, make("dt", {}, label), make("dd", { class: "big" }, value), make("dd", { class: "detail" }, detail)));
    const distance = (c) => (c[frontier.measure] === null ? "–" : frontier.measure === "dissimilarity" ? percent(c.dissimilarity) : numberText(Number(c.distance.toPrecision(3))));
    const against = chosen && chosen !== c ? chosen : null;
    fact(frontier.distance_name, distance(c), against ? `chosen: ${distance(against)}` : "");
    fact(frontier.score_name, c.score.words, against ? `chosen: ${against.score.words}` : "");
    if (c.flips !== null) {
      fact("Decisions that change", c.flips.words, against ? `chosen: ${against.flips.words}` : "");
      fact(`${page.risk} moves by more than 5 points`, c.moved["5"].words, against ? `chosen: ${against.moved["5"].words}` : "");
    }
    fact("Rules", String(c.n_leaves), c.counts ? ["kept", "moved", "relabelled", "added", "dropped"]
      .filter((key) => c.counts[key]).map((key) => `${c.counts[key]} ${key}`).join(", ") : "");
    const parts = [make("h3", {}, c.name + (c.chosen ? " (chosen)" : "")), facts];
    if (c.parameters) parts.push(make("p", { class: "hint" }, c.parameters));
    if (c.edits.length) parts.push(make("p", {}, "Edits: " + c.edits.map(signs).join("; ")));
    if (c.tree === null) parts.push(make("p", { class: "hint" }, data.published ? "The trees of other candidates are not published." : "This candidate's tree was left out to keep the file small."));
    else {
      const tree = unpack(frontier.trees[c.tree], c.name);
      const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${c.name}, drawing` });
      const draw = (folds) => {
        scroll.replaceChildren(drawTree(tree, { side: "candidate", statuses: tree.status, plain: c.chosen && single, folded: folds }));
      };
      draw(tree.folded);
      parts.push(scroll);
      if (tree.folded.length) {
        const button = make("button", { type: "button" }, `Show all ${tree.n_rules} rules`);
        button.addEventListener("click", () => { draw([]); button.remove(); });
        parts.push(button);
      }
      if (c.counts) parts.push(candidateDiff(c, tree));
    }
    card.replaceChildren(...parts);
    card.dataset.candidate = i;
    card.hidden = false;
  }

  // Table of the rules that the candidate changes, against the base tree.
  function candidateDiff(c, tree) {
    const base = diff.rules.filter((row) => (single ? row.new : row.old));
    const half = (row) => (single ? row.new : row.old);
    const old = new Map(base.map((row) => [row.number, half(row)]));
    const seen = new Set(), rows = [];
    tree.rule.forEach((rule, node) => {
      if (rule === null) return;
      seen.add(rule);
      const status = tree.status[rule];
      if (status !== "kept") rows.push([rule, status, old.get(rule) || null, node]);
    });
    for (const [rule, was] of old) if (!seen.has(rule)) rows.push([rule, "dropped", was, null]);
    const kept = c.counts.kept;
    if (!rows.length) return make("p", {}, `Every rule is the same as in ${frontier.base_name}.`);
    rows.sort((a, b) => a[0] - b[0]);
    const cell = (conditions, outcome) => {
      const list = make("ul", { class: "conditions" }, ...conditions.map((text) => make("li", {}, text)));
      return make("td", {}, list, make("p", { class: "outcome" }, "→ ", make("strong", {}, outcome)));
    };
    const none = () => make("td", {}, make("span", { class: "none" }, "–"));
    const body = make("tbody");
    for (const [rule, status, was, node] of rows) {
      const key = make("svg", { class: "key", viewBox: "0 0 16 16", "aria-hidden": "true" }, marker(status, 8, 8));
      body.append(make("tr", { "data-status": status }, make("th", { scope: "row" }, String(rule)),
        make("td", {}, make("span", { class: "status" }, key, make("span", {}, TITLES[status]))),
        was ? cell(conditionsOf(was), ruleOutcome(was)) : none(),
        node === null ? none() : cell(ruleWords(tree, node), outcomeWords(tree, node)[0])));
    }
    const head = make("thead", {}, make("tr", {}, ...["Rule", "Change", `In ${frontier.base_name}`, "In this candidate"]
      .map((text) => make("th", { scope: "col" }, text))));
    const table = make("table", { class: "data candidate-diff" },
      make("caption", { class: "visually-hidden" }, `What ${c.name} would change`), head, body);
    const shown = make("details", { open: "" }, make("summary", {}, `${rows.length} rules differ from ${frontier.base_name}, ${kept} are kept`),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rules that differ" }, table));
    return shown;
  }

  if (frontier) {
    for (const point of all("svg.frontier .point")) {
      const i = Number(point.dataset.candidate), c = frontier.candidates[i];
      point.classList.add("clickable");
      if (c.on_frontier || c.chosen || c.kind === "keep") {
        point.setAttribute("tabindex", "0");
        point.setAttribute("role", "button");
        point.setAttribute("aria-label", `Show ${c.name}`);
        press(point, () => showCandidate(i));
      } else point.addEventListener("click", () => showCandidate(i));
    }
    for (const row of all("#candidate-table tbody tr")) {
      const c = frontier.candidates[Number(row.dataset.candidate)];
      const button = make("button", { type: "button", "aria-label": `Show ${c.name}` }, "Show");
      button.addEventListener("click", () => {
        showCandidate(Number(row.dataset.candidate));
        document.getElementById("candidate").scrollIntoView({ block: "nearest" });
      });
      row.append(make("td", {}, button));
    }
    const last = document.querySelector("#candidate-table thead tr");
    last.append(make("th", { scope: "col" }, make("span", { class: "visually-hidden" }, "Show")));
  }

  // -- try a case --------------------------------------------------------------------------
  // The same comparisons as Tree.apply: values rounded to the model's precision, missing ones and
  // categories never met ("other") follow the directions stored for them.
  function follow(tree, values) {
    const path = [0];
    let node = 0;
    while (tree.left[node] >= 0) {
      let value = values[tree.feature[node]];
      let isLeft;
      if (value === null || value === undefined || Number.isNaN(value)) isLeft = Boolean(tree.missing_left[node]);
      else if (value === "other") isLeft = Boolean(tree.unseen_left[node]);
      else if (tree.categories[node] !== null) isLeft = tree.categories[node].includes(value);
      else {
        if (tree.precision === "float32") value = Math.fround(value);
        isLeft = value <= threshold(tree.threshold[node]);
      }
      node = isLeft ? tree.left[node] : tree.right[node];
      path.push(node);
    }
    return path;
  }

  function readCase() {
    const values = {};
    let fine = true;
    for (const field of all("#case-form [data-feature]")) {
      const j = Number(field.dataset.feature), text = field.value.trim();
      const error = document.getElementById(`${field.id}-error`);
      error.textContent = "";
      field.removeAttribute("aria-invalid");
      if (field.tagName === "SELECT") values[j] = text === "" ? null : text === "other" ? text : Number(text);
      else if (text === "") values[j] = null;
      else {
        const value = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : NaN;
        if (Number.isNaN(value)) {
          fine = false;
          error.textContent = "not a number (use a point: 1.5)";
          field.setAttribute("aria-invalid", "true");
          field.setAttribute("aria-describedby", error.id);
        }
        values[j] = value;
      }
    }
    return fine ? values : null;
  }

  function showCase() {
    const form = document.getElementById("case-form");
    if (!form || !form.querySelector("[data-touched]")) return;
    const result = document.getElementById("case-result");
    for (const row of all("#trees .on-path")) row.classList.remove("on-path");
    const values = readCase();
    result.hidden = values === null;
    if (values === null) return;
    const outcomes = [], panels = [];
    for (const side of sides) {
      const tree = trees[side];
      const path = follow(tree, values), leaf = path.at(-1);
      const svg = document.querySelector(`#tree-${side} svg.tree`);
      for (const node of path) svg.querySelector(`[data-node="${node}"]`)?.classList.add("on-path");
      const [decision, rate] = outcomeWords(tree, leaf);
      outcomes.push(decision);
      const steps = make("ol", { class: "case-path" });
      path.slice(1).forEach((node, i) => {
        const [name, condition] = branchWords(tree, path[i], node === tree.left[path[i]]);
        const value = values[tree.feature[path[i]]];
        steps.append(make("li", {}, `${isolate(name)} ${condition}` + (value === null ? " (value missing: follows the stored direction)"
          : value === "other" ? " (category never met: follows the stored direction)" : "")));
      });
      const words = tree.rule[leaf] === null ? "" : ` by rule ${tree.rule[leaf]}`;
      const numbers = [rate && rate !== "–" ? `predicts ${page.classes[page.positive ?? tree.label[leaf]]} ${rate}` : "",
        tree.observed[leaf] ? `observed ${tree.observed[leaf].words}` : ""].filter(Boolean).join("; ");
      panels.push(make("figure", { id: `case-${side}`, "data-leaf": leaf },
        make("figcaption", {}, tree.name),
        make("p", { class: "outcome" }, make("strong", {}, decision), (numbers ? ` (${numbers})` : "") + words), steps));
    }
    const agreement = outcomes.length < 2 ? [] : [make("p", { class: "agreement" },
      outcomes[0] === outcomes[1] ? "Both trees decide the same." : `The decision changes from ${outcomes[0]} to ${outcomes[1]}.`)];
    result.replaceChildren(...agreement, ...panels);
  }

  const form = document.getElementById("case-form");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", (event) => { event.target.dataset.touched = "yes"; showCase(); });
  document.getElementById("case-result").hidden = true;

  for (const node of all(".script-only")) if (node.id !== "case-result") node.hidden = false;
})();

"use strict";
// The page: asks for a table and what to learn, and shows the report. Python runs in worker.js.
const at = (id) => document.getElementById(id);
const MOST_BYTES = 50e6;
const SHOWN_COLUMNS = 200;
const BUILT_IN = { name: "breast-cancer.csv", target: "diagnosis", bytes: null };
const TYPES = [["", "as it was read"], ["number", "a number"], ["category", "a category"], ["ignore", "nothing: leave it out"]];

let worker = null; // what runs Python; ended by Cancel
let under_way = null; // { id, resolve, reject } of the call that runs
let calls = 0;
let table = null; // { name, bytes }; bytes are null for the built-in one
let types = {}; // what the visitor says of columns
let urls = []; // of the files to save

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// -- Python -------------------------------------------------------------------------------

function started() {
  // From a blob, so that this page's policy (no other server) holds in the worker as well.
  const source = `import ${JSON.stringify(new URL("worker.js", location.href).href)};`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const made = new Worker(url, { type: "module" });
  made.onmessage = ({ data }) => {
    URL.revokeObjectURL(url);
    if ("words" in data) showProgress(data);
    else if (under_way?.id === data.id && "answer" in data) under_way.resolve(JSON.parse(data.answer));
    else if (under_way?.id === data.id) under_way.reject(new Error(data.broken));
  };
  made.onerror = (event) => {
    worker = null;
    under_way?.reject(new Error(event.message || "expected the page's worker to start, got an error; load the page again"));
  };
  return made;
}

async function ask(call, request, files) {
  worker ??= started();
  const id = (calls += 1);
  setWorking(true);
  showProgress({ words: "Starting", done: 0, total: 0 });
  try {
    return await new Promise((resolve, reject) => {
      under_way = { id, resolve, reject };
      worker.postMessage({ id, call, request, files });
    });
  } finally {
    under_way = null;
    setWorking(false);
  }
}

class Cancelled extends Error {}

function cancel() {
  worker?.terminate();
  worker = null;
  under_way?.reject(new Cancelled());
}

// -- what is under way --------------------------------------------------------------------

let clock = 0, since = 0;

function setWorking(working) {
  document.body.classList.toggle("working", working);
  at("work").hidden = !working;
  for (const id of ["built-in", "table", "go"]) at(id).disabled = working;
  for (const one of document.querySelectorAll("#read select, #question select, #question input")) one.disabled = working;
  clearInterval(clock);
  if (!working) return;
  since = performance.now();
  const tick = () => (at("work-time").textContent = `${Math.round((performance.now() - since) / 1000)} s`);
  clock = setInterval(tick, 1000);
  tick();
}

function showProgress({ words, done, total }) {
  at("work-words").textContent = total ? `${words}. Step ${Math.min(done + 1, total)} of ${total}.` : `${words}.`;
  if (words.startsWith("Loading")) at("work-words").textContent = `${words}.`;
  const bar = at("work-bar");
  if (total) {
    bar.max = total;
    bar.value = done;
  } else bar.removeAttribute("value");
}

function showTrouble(place, error) {
  const box = at(place);
  box.replaceChildren();
  if (error instanceof Cancelled) box.append(make("p", {}, "Cancelled. Nothing was computed; what you chose is still here."));
  else {
    if (error.expected === false) {
      box.append(make("p", {}, "This is a fault of the page or of the library, not of your table. It said:"));
    }
    box.append(make("p", {}, error.message));
    if (/(^|\s)--[a-z]/.test(error.message)) {
      box.append(make("p", {}, "Words that begin with -- are options of the command line. The fields of this page that do the same carry their names."));
    }
  }
  box.hidden = false;
  box.focus();
}

function clearTrouble() {
  for (const id of ["look-trouble", "ask-trouble"]) {
    at(id).hidden = true;
    at(id).replaceChildren();
  }
}

// An answer of Python, or what it says is wrong as an error.
function checked(answer) {
  if (!("error" in answer)) return answer;
  throw Object.assign(new Error(answer.error), { expected: answer.expected });
}

// -- the table ----------------------------------------------------------------------------

function howWritten() {
  return {
    table: table.name,
    separator: at("separator").value || null,
    decimal: at("decimal").value,
    encoding: at("encoding").value || null,
    types,
  };
}

const sent = () => (table.bytes === null ? [] : [{ name: table.name, bytes: table.bytes }]);

async function choose(chosen) {
  clearTrouble();
  table = chosen;
  types = {};
  at("form").open = false;
  for (const id of ["separator", "encoding"]) at(id).value = "";
  at("decimal").value = ".";
  for (const id of ["read", "ask", "result"]) at(id).hidden = true;
  await look(true);
}

async function look(first) {
  clearTrouble();
  at("result").hidden = true;
  try {
    const found = checked(await ask("look", howWritten(), sent()));
    showColumns(found, first);
    if (first) at("read-title").focus();
  } catch (error) {
    // What is said about the file may be mended by saying how it is written.
    at("read").hidden = error instanceof Cancelled && first;
    at("ask").hidden = true;
    if (!at("read").hidden && error.expected) {
      at("read-words").textContent = `${table.name} was not read. Say how it is written, or choose another file.`;
      at("columns").replaceChildren();
      at("columns-scroll").hidden = true;
      at("form").open = true;
    } else at("read").hidden = true;
    showTrouble("look-trouble", error);
  }
}

function showColumns(found, first) {
  const names = found.columns.map((column) => column.name);
  const rows = found.rows.toLocaleString("en");
  at("read-words").textContent = `${found.file}: ${rows} rows, ${names.length} columns.`;
  at("columns").replaceChildren(...found.columns.slice(0, SHOWN_COLUMNS).map(columnRow));
  const more = names.length - SHOWN_COLUMNS;
  at("columns-more").hidden = more <= 0;
  at("columns-more").textContent = `And ${more} more columns, taken as they were read.`;
  at("columns-scroll").hidden = false;
  const before = { target: at("target").value, time: at("time").value };
  at("target").replaceChildren(...names.map((name) => make("option", { value: name }, name)));
  at("time").replaceChildren(
    make("option", { value: "" }, "as they stand"),
    ...names.map((name) => make("option", { value: name }, name)),
  );
  if (first) {
    at("target").value = table.target ?? names.at(-1);
    at("time").value = "";
    at("old").value = String(Math.floor(found.rows / 2));
    at("task").value = "auto";
    at("drop-missing").checked = false;
    at("deployed").value = "";
  } else {
    at("target").value = names.includes(before.target) ? before.target : names.at(-1);
    at("time").value = names.includes(before.time) ? before.time : "";
  }
  at("old").max = String(found.rows - 1);
  at("read").hidden = false;
  at("ask").hidden = false;
}

function columnRow(column) {
  const kind = column.type === null ? "not read" : column.categories ? `${column.type} (${column.categories})` : column.type;
  const take = make("select", { "aria-label": `Take ${column.name} as` });
  take.append(...TYPES.map(([value, words]) => make("option", { value }, words)));
  take.value = types[column.name] ?? "";
  take.addEventListener("change", () => {
    types = { ...types, [column.name]: take.value };
    if (!take.value) delete types[column.name];
    look(false);
  });
  const row = make(
    "tr",
    column.type === null ? { class: "odd" } : {},
    make("th", { scope: "row" }, column.name),
    make("td", { class: "kind" }, kind),
    make("td", {}, column.missing || "–"),
    make("td", {}, take),
    make("td", { class: "note" }, ...(column.note ? [column.note] : [])),
  );
  return row;
}

async function chooseFile(file) {
  if (!file) return;
  if (file.size > MOST_BYTES) {
    clearTrouble();
    showTrouble("look-trouble", new Error(
      `expected a file of at most ${MOST_BYTES / 1e6} MB, got ${(file.size / 1e6).toFixed(0)} MB; take a part of its rows`,
    ));
    return;
  }
  const name = file.name.replace(/[/\\\0]/g, "_").slice(-120);
  await choose({ name, bytes: await file.arrayBuffer() });
}

// -- the report ---------------------------------------------------------------------------

async function propose() {
  clearTrouble();
  at("result").hidden = true;
  const files = sent();
  const request = {
    ...howWritten(),
    target: at("target").value,
    task: at("task").value,
    time: at("time").value || null,
    old: at("old").value === "" ? null : Number(at("old").value),
    drop_missing_target: at("drop-missing").checked,
    deployed: null,
  };
  const tree = at("deployed").files[0];
  try {
    if (tree) {
      request.deployed = `deployed/${tree.name.replace(/[/\\\0]/g, "_").slice(-120)}`;
      files.push({ name: request.deployed, bytes: await tree.arrayBuffer() });
    }
    showResult(checked(await ask("propose", request, files)));
  } catch (error) {
    showTrouble("ask-trouble", error);
  }
}

function showResult(found) {
  const rows = (n) => `${n.toLocaleString("en")} rows`;
  const first = found.grown ? `First tree grown on ${rows(found.old)}, retrained on ${rows(found.new)}.` : `Your tree, retrained on ${rows(found.new)}` + (found.old ? ` beside ${found.old.toLocaleString("en")} old ones.` : ".");
  at("result-words").textContent = first;
  at("result-warnings").hidden = found.warnings.length === 0;
  at("result-warnings").replaceChildren(...found.warnings.map((words) => make("li", {}, words)));
  for (const url of urls) URL.revokeObjectURL(url);
  const words = `${found.read}\n\n${first}\n\n${found.explanation}\n\n${found.changes}\n`;
  const saved = [["save-report", found.report, "text/html"], ["save-tree", found.tree, "application/json"], ["save-words", words, "text/plain"]];
  urls = saved.map(([id, text, type]) => {
    const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    at(id).href = url;
    return url;
  });
  at("open-report").href = urls[0];
  // Shut off from this page; its links to its own parts need its own address as their base.
  at("report").srcdoc = found.report.replace("<head>", '<head><base href="about:srcdoc">');
  at("result").hidden = false;
  at("result-title").focus();
}

// -- what visitors do ---------------------------------------------------------------------

at("built-in").addEventListener("click", () => choose(BUILT_IN));
at("table").addEventListener("change", async (event) => {
  const file = event.target.files[0];
  event.target.value = ""; // the same file may be chosen again
  await chooseFile(file);
});
at("cancel").addEventListener("click", cancel);
at("question").addEventListener("submit", (event) => {
  event.preventDefault();
  propose();
});
for (const id of ["separator", "decimal", "encoding"]) at(id).addEventListener("change", () => look(false));

// A file may be dropped anywhere on the page; elsewhere the browser would open it.
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    at("drop").classList.add("over");
  });
}
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) at("drop").classList.remove("over");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  at("drop").classList.remove("over");
  if (!under_way) chooseFile(event.dataTransfer.files[0]);
});

// From a file no worker starts; the notice that is there says so.
if (location.protocol !== "file:") {
  at("not-started").hidden = true;
  at("choose").hidden = false;
}

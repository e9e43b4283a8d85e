// Python in a worker, so that the page stays awake while it computes. The page sends
// { id, call, request, files }; back come { words, done, total } and one { id, answer } or
// { id, broken }. All requests to the server are made here, and before the first answer.
const here = new URL("./", import.meta.url);
const runtime = new URL("runtime/", here);
const HOME = "/home/pyodide";
const BUILT_IN = "breast-cancer.csv";

const tell = (words, done = 0, total = 0) => postMessage({ words, done, total });

async function fetched(name) {
  // The server is asked whether its copy changed: files that belong together stay together.
  const response = await fetch(new URL(name, here), { cache: "no-cache" });
  if (!response.ok) throw new Error(`expected ${name} on the server, got ${response.status}`);
  return response;
}

async function load() {
  let manifest;
  try {
    manifest = await (await fetched("runtime/runtime.json")).json();
  } catch {
    throw new Error(
      "expected the Python runtime beside this page, got none; whoever built the site adds it with " +
        "scripts/assemble_pyodide.py",
    );
  }
  const steps = manifest.packages.length + 2;
  let done = 0;
  const step = (what) => {
    done += 1;
    tell(`Loading the runtime, ${done} of ${steps}: ${what}`, done - 1, steps);
  };
  step("Python");
  const [program, table, lock] = await Promise.all(
    ["tryit.py", BUILT_IN, "runtime/pyodide-lock.json"].map(async (name) => (await fetched(name)).text()),
  );
  const { loadPyodide } = await import(new URL("pyodide.mjs", runtime).href);
  const python = await loadPyodide({
    indexURL: runtime.href,
    packageBaseUrl: runtime.href,
    lockFileContents: lock,
  });
  for (const name of manifest.packages) {
    step(name);
    // A wheel whose digest is not the one in the lock file is refused by Pyodide.
    await python.loadPackage([name], { messageCallback: () => {}, errorCallback: () => {} });
    if (!(name in python.loadedPackages)) throw new Error(`expected the package ${name}, got none; load the page again`);
  }
  step("starting");
  python.FS.writeFile(`${HOME}/tryit.py`, program);
  python.FS.mkdirTree(`${HOME}/work`);
  python.FS.writeFile(`${HOME}/work/${BUILT_IN}`, table);
  await python.runPythonAsync(`
import os, sys
os.chdir("${HOME}/work")
sys.path.insert(0, "${HOME}")
import tryit
`);
  return { answer: python.globals.get("tryit").answer, files: python.FS };
}

let loading = null;

onmessage = async ({ data }) => {
  const { id, call, request, files } = data;
  try {
    loading ??= load();
    const python = await loading;
    for (const { name, bytes } of files) {
      const path = `${HOME}/work/${name}`;
      python.files.mkdirTree(path.slice(0, path.lastIndexOf("/")));
      python.files.writeFile(path, new Uint8Array(bytes));
    }
    postMessage({ id, answer: python.answer(call, JSON.stringify(request), tell) });
  } catch (error) {
    loading = null;
    postMessage({ id, broken: String(error.message ?? error) });
  }
};

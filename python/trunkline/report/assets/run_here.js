// "Run it here": a parameter's value is looked up in the patches that the compiler made, the network
// with them is run by the engine in a worker, and its tables stand beside those of the run before.
const RUN_DELAY_MS = 120;

async function startRunHere() {
  const section = document.getElementById("run-here");
  if (!section) return;
  const at = (id) => document.getElementById(`run-here-${id}`);
  const tell = (text) => { at("state").textContent = text; };
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function" || typeof BigInt64Array !== "function") {
    tell("This browser has no WebAssembly. The page shows the stored run below.");
    return;
  }
  let scenario, engine;
  try {
    scenario = JSON.parse(new TextDecoder().decode(await unpackHolder("runnable")));
    engine = new PageEngine(await unpackHolder("engine"));
  } catch (error) {
    tell(`The engine cannot start in this browser (${error.message}). The page shows the stored run below.`);
    return;
  }
  const view = { scenario, engine, at, tell, shown: null, before: null, wanted: 0, busy: false, timer: 0 };
  view.choice = new Map(scenario.groups.flatMap((group) => group.parameters.map((parameter) => [parameter.name, parameter.written])));
  buildControls(view);
  at("start").addEventListener("click", () => runNow(view));
  at("stop").addEventListener("click", () => engine.stop());
  at("runs").addEventListener("change", () => runSoon(view));
  at("reset").addEventListener("click", () => { resetChoice(view); runSoon(view); });
  if (scenario.lesson) startLesson(view);
  section.dataset.state = "ready";
  at("controls").disabled = false;
  runNow(view);
}

// ---- parameters

function buildControls(view) {
  const rows = view.scenario.groups.flatMap((group) => group.parameters.map((parameter) => buildControl(view, parameter)));
  view.at("knobs").replaceChildren(...rows);
  if (!rows.length) view.at("knobs").append(make("p", "The scenario has no parameter that can be changed here.", "note"));
  for (const [name, reason] of view.scenario.left_out) view.at("knobs").append(make("p", `${name} is not offered: ${reason}.`, "note"));
}

function buildControl(view, parameter) {
  const row = make("div", null, "knob");
  const label = make("label", parameter.name);
  const value = make("output", parameter.values[parameter.written]);
  const input = parameter.is_number ? make("input") : make("select");
  input.id = `run-here-${parameter.name}`;
  label.htmlFor = input.id;
  value.htmlFor = input.id;
  if (parameter.is_number) {
    input.type = "range";
    input.min = "0";
    input.max = String(parameter.values.length - 1);
  } else {
    input.append(...parameter.values.map((text, index) => { const option = make("option", text); option.value = String(index); return option; }));
  }
  const show = (index) => {
    input.value = String(index);
    value.textContent = parameter.values[index];
    input.setAttribute("aria-valuetext", parameter.values[index]);
    row.classList.toggle("set", index !== parameter.written);
  };
  input.addEventListener("input", () => {
    const index = Number(input.value);
    view.choice.set(parameter.name, index);
    show(index);
    runSoon(view);
  });
  view.shows = (view.shows || new Map()).set(parameter.name, show);
  show(parameter.written);
  // A list shows its value itself.
  value.hidden = !parameter.is_number;
  row.append(label, input, value);
  return row;
}

function resetChoice(view) {
  for (const group of view.scenario.groups) for (const parameter of group.parameters) setChoice(view, parameter.name, parameter.written);
}

function setChoice(view, name, index) {
  view.choice.set(name, index);
  view.shows.get(name)(index);
}

// The document of the chosen values, or the names of the parameters that the compiler refuses together.
function applyChoice(scenario, choice) {
  let document = scenario.document;
  for (const group of scenario.groups) {
    const patch = group.patches[group.parameters.map((parameter) => choice.get(parameter.name)).join(",")];
    if (!patch) return { refused: group.parameters.map((parameter) => `${parameter.name} ${parameter.values[choice.get(parameter.name)]}`) };
    for (const [place, value] of patch) document = replaceAt(document, place, value);
  }
  return { document };
}

function replaceAt(document, place, value) {
  if (!place.length) return value;
  const changed = Array.isArray(document) ? [...document] : { ...document };
  changed[place[0]] = replaceAt(document[place[0]], place.slice(1), value);
  return changed;
}

// Values over those of the file, by parameter.
function listSetValues({ scenario, choice }) {
  const sets = { ...scenario.fixed };
  for (const group of scenario.groups) for (const each of group.parameters) if (choice.get(each.name) !== each.written) sets[each.name] = each.values[choice.get(each.name)];
  return sets;
}

function commandOf(view) {
  const { scenario } = view;
  const quote = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`);
  const sets = Object.entries(listSetValues(view));
  const runs = Number(view.at("runs").value);
  return ["trunkline run", quote(scenario.file), ...sets.map(([name, value]) => `--set ${quote(`${name}=${value}`)}`), `--seed ${scenario.seed}`, ...(runs > 1 ? [`--runs ${runs}`] : [])].join(" ");
}

// ---- running

function runSoon(view) {
  view.wanted += 1;
  clearTimeout(view.timer);
  if (view.busy) { view.engine.stop(); return; }
  view.timer = setTimeout(() => runNow(view), RUN_DELAY_MS);
}

async function runNow(view) {
  if (view.busy) return;
  view.busy = true;
  const wanted = view.wanted;
  const { scenario, engine, at, tell } = view;
  const runs = Number(at("runs").value);
  at("progress").hidden = at("stop").hidden = false;
  at("start").hidden = true;
  at("command").textContent = commandOf(view);
  try {
    const values = listSetValues(view);
    const { document, refused } = applyChoice(scenario, view.choice);
    if (refused) { tell(`The scenario does not allow ${refused.join(" with ")}. The last run stays.`); return; }
    const started = performance.now();
    const results = [];
    for (let number = 0; number < runs; number += 1) {
      const advance = (share) => { at("progress").value = (number + share) / runs; };
      advance(0);
      tell(runs > 1 ? `Run ${number + 1} of ${runs}.` : "Running.");
      const answer = await engine.run(document.network, scenario.seed + number, advance);
      const tables = decodeTables(readAnswer(answer), document.network, scenario.book);
      results.push({ seed: scenario.seed + number, tables });
    }
    const hash = await hashTables(results[0].tables, scenario.book);
    const took = (performance.now() - started) / 1000;
    view.before = view.shown;
    view.shown = { results, document, hash, values, rows: averageTables(results, scenario) };
    showRun(view);
    tell(`${runs > 1 ? `${runs} runs` : "Run"} in ${quantity(took, "s")}. Results hash ${hash.slice(0, 16)}${runs > 1 ? " (first run)" : ""}.`);
    announceHash(hash);
    await drawRunCharts(view, document);
  } catch (error) {
    if (error instanceof StoppedRun) tell("Stopped. The last run stays."); else tell(`The run failed: ${error.message}`);
  } finally {
    view.busy = false;
    at("progress").hidden = at("stop").hidden = true;
    at("start").hidden = false;
    if (view.wanted !== wanted) runSoon(view);
  }
}

// Tests and other scripts of a reader can see which results stand on the page.
function announceHash(hash) {
  document.documentElement.dataset.resultsHash = hash;
}

// ---- tables

// Means over the runs with half of the 95 % interval (Student's t), by table and row.
function averageTables(results, scenario) {
  return Object.fromEntries(scenario.tables.map(({ name, names, measures }) => {
    const rows = new Map();
    for (const { tables } of results) {
      const table = tables[name];
      const count = table[names[0]].length;
      for (let row = 0; row < count; row += 1) {
        const key = names.map((column) => table[column][row]);
        const id = JSON.stringify([key, name === "videos" ? table.player[row] : ""]);
        if (!rows.has(id)) rows.set(id, { key, values: measures.map(() => []) });
        measures.forEach((measure, index) => rows.get(id).values[index].push(table[measure][row]));
      }
    }
    for (const row of rows.values()) row.cells = row.values.map((values) => averageOf(values, results.length, scenario.book.t_quantiles));
    return [name, rows];
  }));
}

function averageOf(values, runs, quantiles) {
  const known = values.filter((value) => value !== null);
  if (!known.length || known.length < runs) return { mean: known.length ? known.reduce((a, b) => a + b, 0) / known.length : null, half: null, runs: known.length };
  const mean = known.reduce((a, b) => a + b, 0) / known.length;
  if (known.length === 1) return { mean, half: null, runs: 1 };
  const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (known.length - 1);
  return { mean, half: quantiles[known.length - 2] * Math.sqrt(variance / known.length), runs: known.length };
}

function formatCell({ mean, half }, unit) {
  const text = quantity(mean, ["%", "s", "bit/s"].includes(unit) ? unit : "");
  return half ? `${text} ± ${quantity(half, ["%", "s", "bit/s"].includes(unit) ? unit : "")}` : text;
}

function showRun(view) {
  const { scenario, at, shown, before } = view;
  const open = new Set([...at("tables").querySelectorAll("details[open]")].map((each) => each.dataset.table));
  const first = !at("tables").children.length;
  showBounds(view);
  const blocks = scenario.tables.filter(({ name }) => shown.rows[name].size).map((table) => {
    const fields = Object.fromEntries(scenario.book.schemas[table.name].map((field) => [field.name, field]));
    const block = make("details");
    block.dataset.table = table.name;
    block.open = first ? ["aggregates", "flows", "calls"].includes(table.name) : open.has(table.name);
    block.append(make("summary", `${table.name} (${shown.rows[table.name].size})`), buildTable(table, fields, shown.rows[table.name], before && before.rows[table.name]));
    if (table.note) block.append(make("p", table.note, "note"));
    return block;
  });
  at("tables").replaceChildren(...blocks);
  at("against").hidden = !before;
}

function buildTable(table, fields, rows, before) {
  const scroll = make("div", null, "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", table.name);
  const element = make("table");
  const head = element.createTHead().insertRow();
  for (const column of [...table.names, ...table.measures]) {
    const cell = make("th", fields[column].title, table.measures.includes(column) ? "n" : "");
    cell.scope = "col";
    cell.title = fields[column].about;
    head.append(cell);
  }
  const body = element.createTBody();
  for (const [id, row] of [...rows].slice(0, 200)) {
    const line = body.insertRow();
    row.key.forEach((name, index) => { const cell = make(index ? "td" : "th", name === null ? "–" : String(name), "short"); if (!index) cell.scope = "row"; line.append(cell); });
    row.cells.forEach((cell, index) => {
      const { unit } = fields[table.measures[index]];
      const place = make("td", formatCell(cell, unit), "n");
      const old = before && before.get(id);
      if (old && old.cells[index].mean !== cell.mean) {
        place.classList.add("changed");
        place.append(make("span", ` ${formatCell(old.cells[index], unit)}`, "earlier"));
      }
      line.append(place);
    });
  }
  scroll.append(element);
  return scroll;
}

// ---- service levels: trunkline.stats.service_levels

function judgeBounds(bounds, results) {
  return bounds.map((bound) => {
    const excess = (value) => (value === null ? Infinity : bound.at === "most" ? value - bound.value : bound.value - value);
    let kept = 0, unjudged = 0, worst = null;
    for (const run of results) {
      const found = findWorst(bound, run.tables, excess);
      if (excess(found.value) <= 0) kept += 1; else if (found.silent) unjudged += 1;
      if (!worst || excess(found.value) > excess(worst.value)) worst = { ...found, seed: run.seed };
    }
    const outcome = kept + unjudged < results.length ? "broken" : unjudged ? "not judged" : "met";
    return { bound, outcome, kept, worst };
  });
}

function findWorst(bound, tables, excess) {
  const table = tables[bound.table];
  const names = table[bound.table === "aggregates" ? "dscp" : "flow"];
  const valueOf = new Map();
  names.forEach((name, row) => {
    if (bound.table === "completions" && table.sizes[row] !== bound.sizes) return;
    const value = table[bound.column][row];
    if (bound.table === "videos" && valueOf.has(name) && excess(value) <= excess(valueOf.get(name))) return;
    valueOf.set(name, value);
  });
  const [key, counted] = bound.table === "aggregates" ? ["dscp", tables.aggregates] : ["flow", tables.flows];
  const silent = new Set(counted[key].filter((row, index) => counted.packets_sent[index] === 0 && bound.rows.includes(row)));
  let worst = null;
  for (const row of bound.rows) if (!silent.has(row) && (!worst || excess(valueOf.get(row)) > excess(worst.value))) worst = { row, value: valueOf.get(row) ?? null };
  if (!worst || (silent.size && excess(worst.value) <= 0)) {
    const row = bound.rows.find((each) => silent.has(each));
    return { row, value: valueOf.get(row) ?? null, silent: true };
  }
  return worst;
}

function describeBound(bound) {
  const side = bound.at === "most" ? "at most" : "at least";
  return `${bound.measure.replaceAll("_", " ")} ${side} ${formatBound(bound.value, bound.unit)}`;
}

function formatBound(value, unit) {
  return quantity(value, unit === "1" ? "%" : unit === "MOS" ? "" : unit);
}

function buildVerdicts(levels) {
  const list = make("ul", null, "verdict");
  const signs = { met: ["held", "✓ Met"], broken: ["broken", "✗ Broken"], "not judged": ["undecided", "? Not judged"] };
  for (const { bound, outcome, worst } of levels) {
    const [sign, word] = signs[outcome];
    const item = make("li", null, sign);
    const found = worst.value === null ? "no value" : formatBound(worst.value, bound.unit);
    item.append(make("span", word, "sign"), make("span", `${bound.sla ? `${bound.sla}: ` : ""}${describeBound(bound)}; ${worst.row} has ${found}`, "says"));
    list.append(item);
  }
  return list;
}

function showBounds(view) {
  const levels = judgeBounds(view.shown.document.bounds, view.shown.results);
  if (view.scenario.lesson) judgeTasks(view, levels);
  view.at("bounds").replaceChildren(...(levels.length ? [make("h3", "Service levels"), buildVerdicts(levels)] : []));
}

// ---- the lesson: tasks that are solved stay solved, each by the values that solved it

function startLesson(view) {
  view.solved = new Map();
  for (const task of view.scenario.lesson.tasks) {
    if (!task.choices) continue;
    for (const input of itemOf(task).querySelectorAll("input")) {
      input.addEventListener("change", () => {
        const choice = Number(input.value);
        if (choice === task.answer) view.solved.set(task.name, { choice }); else view.solved.delete(task.name);
        showTask(view, task, choice === task.answer ? "" : "Not this one.");
      });
    }
  }
}

function itemOf(task) {
  return [...document.querySelectorAll("#run-here-lesson [data-task]")].find((item) => item.dataset.task === task.name);
}

function judgeTasks(view, levels) {
  const { scenario, shown } = view;
  for (const task of scenario.lesson.tasks) {
    if (!task.targets) continue;
    const missed = levels.filter(({ bound, outcome }) => task.targets.includes(bound.sla) && outcome !== "met");
    if (!missed.length) {
      view.solved.set(task.name, { values: shown.values, seed: scenario.seed, runs: shown.results.length, hash: shown.hash.slice(0, 16) });
    }
    const first = missed[0];
    showTask(view, task, first ? `Not with these values: ${describeBound(first.bound)}, ${first.worst.row} has ${first.worst.value === null ? "no value" : formatBound(first.worst.value, first.bound.unit)}.` : "");
  }
}

function showTask(view, task, missed) {
  const outcome = itemOf(task).querySelector(".outcome");
  const solution = view.solved.get(task.name);
  const values = solution && solution.values ? Object.entries(solution.values).map(([name, value]) => `${name} ${value}`).join(", ") || "the written values" : "";
  outcome.className = `outcome ${solution ? "held" : "broken"}`;
  outcome.textContent = solution ? `✓ Solved${values ? ` with ${values}` : ""}.` : `✗ ${missed || "Not solved yet."}`;
  const place = view.at("handed-in");
  place.hidden = !view.solved.size;
  view.at("code").textContent = makeCode(view.scenario.lesson.scenario, view.solved);
}

// trunkline.share.exercise_code reads it.
function makeCode(scenario, solved) {
  const bytes = new TextEncoder().encode(JSON.stringify({ scenario, tasks: Object.fromEntries(solved) }));
  return `TL1-${btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

// ---- charts over time, of the first run repeated with probes

async function drawRunCharts(view, runDocument) {
  const { scenario, engine, at } = view;
  if (!scenario.charts.length) return;
  const { network, numbers } = addProbes(runDocument.network, scenario.probes);
  const raw = readAnswer(await engine.run(network, scenario.seed, () => {}));
  const series = new Map();
  raw.series.probe.forEach((probe, row) => {
    if (!series.has(probe)) series.set(probe, { time: [], values: [] });
    series.get(probe).time.push(raw.series.time_ns[row] / 1e9);
    series.get(probe).values.push(raw.series.value[row]);
  });
  const end = network.run.duration_ns / 1e9;
  const charts = scenario.charts.map((plan) => buildChart(plan, numbers, series, end)).filter((chart) => chart.lines.length);
  const before = view.charts || [];
  for (const chart of charts) chart.before = before.find((each) => each.key === chart.key);
  view.charts = charts.map((chart) => ({ ...chart, before: undefined }));
  exhibits.set("run-here", { key: "run-here", charts });
  if (typeof echarts === "undefined") return;
  const places = charts.map((chart) => {
    const figure = make("figure", null, "chart line");
    const plot = make("div", null, "plot");
    plot.dataset.exhibit = "run-here";
    plot.dataset.chart = chart.key;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", `${chart.title} over time`);
    figure.append(make("figcaption", chart.title), plot);
    return figure;
  });
  for (const [place, chart] of [...drawn]) if (at("charts").contains(place)) { chart.dispose(); drawn.delete(place); }
  at("charts").replaceChildren(...places);
  for (const place of at("charts").querySelectorAll(".plot")) drawChart(place);
}

// The probes by the names of their flows, links and classes; those that this network lacks are left out.
function addProbes(network, probes) {
  const numbers = new Map();
  const added = [];
  probes.forEach((probe, index) => {
    const isOfLink = ["utilisation", "queue-packets", "drops"].includes(probe.measure);
    const target = network[isOfLink ? "links" : "flows"].findIndex((item) => item.name === probe.target);
    if (target < 0) return;
    const classes = isOfLink ? network.ports[network.links[target].port].classes.map((each) => each.name) : [];
    const number = probe.class === null ? null : classes.indexOf(probe.class);
    if (number === -1) return;
    numbers.set(index, network.probes.length + added.length);
    added.push({ measure: probe.measure, target, class: number, precedence: null, step_ns: probe.step_ns });
  });
  return { network: { ...network, run: { ...network.run, trace: false }, probes: [...network.probes, ...added] }, numbers };
}

function buildChart(plan, numbers, series, end) {
  let x = [];
  const lines = [];
  for (const line of plan.lines) {
    const found = line.probes.map((probe) => series.get(numbers.get(probe))).filter(Boolean);
    if (!found.length) continue;
    const values = found[0].values.map((_, step) => {
      const known = found.map((each) => each.values[step]).filter((value) => value !== undefined && !Number.isNaN(value));
      if (!known.length) return plan.is_sum ? 0 : null;
      const total = known.reduce((a, b) => a + b, 0);
      return plan.is_sum ? total : total / known.length;
    });
    const gathered = gatherSteps(found[0].time, values, plan.points);
    x = gathered.time;
    lines.push({ name: line.name, colour: line.colour, values: gathered.values });
  }
  return { key: plan.key, title: plan.title, kind: "line", unit: plan.unit, x, lines, end };
}

function gatherSteps(time, values, points) {
  const size = points ? Math.ceil(time.length / points) : 1;
  if (size <= 1) return { time, values };
  const result = { time: [], values: [] };
  for (let at = 0; at + size <= time.length; at += size) {
    const known = values.slice(at, at + size).filter((value) => value !== null);
    result.time.push(time[at + size - 1]);
    result.values.push(known.length ? known.reduce((a, b) => a + b, 0) / known.length : null);
  }
  return result;
}

// A live page: the state is fetched whenever the server says that there is a new one. Texts of users
// are set as text; the run is HTML that the report's own template wrote and escaped.
const at = (id) => document.getElementById(id);
const SLIDER_STEPS = 200;
// A slider goes from a tenth of what the file says to ten times that.
const SLIDER_DECADES = 2;
const RESTS_MS = 1000;
let overrides = {};
let shownRun = null;
let charts = false;
let fetching = false;
let again = false;
let turning = null;
// Turns that the server has taken: a state that was asked for before the last of them is old.
let turns = 0;

async function post(place, content) {
  try {
    const answer = await fetch(place, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) });
    if (!answer.ok) at("state").textContent = await answer.text();
    return answer.ok;
  } catch (error) {
    at("state").textContent = "The server has ended, or cannot be reached.";
    return false;
  }
}

// While a slider moves only the newest value is sent, when the one before has been taken.
async function turn(settled) {
  if (turning) { turning = { settled: settled || turning.settled }; return; }
  turning = { settled };
  for (let next = turning; next; ) {
    turning = { settled: false, idle: true };
    await post("turn", { overrides, settled: next.settled, runs: Number(at("runs").value) });
    turns += 1;
    next = turning.idle ? null : turning;
  }
  turning = null;
}

async function refresh() {
  if (fetching) { again = true; return; }
  fetching = true;
  try {
    do {
      again = false;
      const since = turns;
      const answer = await fetch("state");
      if (answer.ok) show(await answer.json(), since);
    } while (again);
  } catch (error) {
    at("state").textContent = "The server has ended, or cannot be reached.";
  } finally {
    fetching = false;
  }
}

function show(state, since) {
  showErrand(state.errand);
  if (!state.ready) return;
  showProblems(state);
  showKnobs(state, since);
  at("command").textContent = state.command;
  if (state.run !== undefined && state.run !== shownRun) {
    shownRun = state.run;
    if (state.title) at("title").textContent = state.title;
    showChanges(state.changes);
    showRun(state);
  }
  document.documentElement.dataset.version = state.version;
}

function showProblems(state) {
  const place = at("problems");
  const errors = state.failed ? state.messages.length : 0;
  const count = errors === 1 ? "One error" : `${errors} errors`;
  place.hidden = !state.messages.length;
  place.className = state.failed ? "failed" : "warned";
  place.replaceChildren(...state.messages.map((text) => make("pre", text)));
  document.body.classList.toggle("stale", state.failed);
  const runs = state.runs === 1 ? "Run" : `${state.runs} runs`;
  const warned = !state.failed && state.messages.length ? `, with ${state.messages.length === 1 ? "a warning" : "warnings"}` : "";
  const stays = state.run === undefined ? "" : " Below is the last run without errors.";
  at("state").textContent = state.failed ? `${count}; mend and save.${stays}` : `${runs} and drawn in ${quantity(state.took, "s")}${warned}.`;
}

// ---- parameters

function showKnobs(state, since) {
  const names = state.knobs.map((knob) => knob.name);
  const place = at("knobs");
  const have = [...place.children].map((row) => row.dataset.name);
  if (!turning && since === turns && !place.contains(document.activeElement)) overrides = { ...state.overrides };
  if (names.join("\n") !== have.join("\n")) {
    const focus = document.activeElement && document.activeElement.id;
    place.replaceChildren(...state.knobs.map(makeKnob));
    if (focus && at(focus)) at(focus).focus();
    if (!names.length) place.append(make("p", "The scenario has none. Write one, parameters: {rate: 10 Mbit/s}, and use it as $rate; or set any value here.", "note"));
  }
  for (const knob of state.knobs) setKnob(knob);
  offerStudy(state.knobs.filter((knob) => knob.parameter));
  at("reset").disabled = !Object.keys(state.overrides).length;
  if (document.activeElement !== at("runs")) at("runs").value = String(state.runs);
}

function makeKnob(knob, number) {
  const row = make("div", null, "knob");
  row.dataset.name = knob.name;
  const label = make("label", knob.name);
  const text = make("input");
  text.id = `knob-${number}`;
  label.htmlFor = text.id;
  text.autocomplete = "off";
  text.addEventListener("change", () => set(knob.name, text.value.trim(), true));
  const slider = make("input");
  slider.type = "range";
  slider.min = "0";
  slider.max = String(SLIDER_STEPS);
  slider.id = `slide-${number}`;
  slider.setAttribute("aria-label", `${knob.name}, slider`);
  let rest = 0;
  slider.addEventListener("input", () => {
    const value = valueAt(row.knob, Number(slider.value));
    text.value = value;
    slider.setAttribute("aria-valuetext", value);
    set(knob.name, value, false);
    // Each press of an arrow key is a change of its own: the slide ends when it has rested.
    clearTimeout(rest);
    rest = setTimeout(() => turn(true), RESTS_MS);
  });
  row.append(label, slider, text);
  return row;
}

function set(name, value, settled) {
  if (value === "") delete overrides[name]; else overrides[name] = value;
  const row = [...at("knobs").children].find((each) => each.dataset.name === name);
  if (row && row.knob.written === value) delete overrides[name];
  turn(settled);
}

function setKnob(knob) {
  const row = [...at("knobs").children].find((each) => each.dataset.name === knob.name);
  row.knob = knob;
  const [, slider, text] = row.children;
  row.classList.toggle("set", knob.value !== knob.written);
  slider.hidden = knob.number === null;
  if (document.activeElement !== text && !(document.activeElement === slider && turning)) text.value = knob.value;
  if (document.activeElement !== slider) slider.value = String(stepOf(knob));
  slider.setAttribute("aria-valuetext", knob.value);
  text.setAttribute("aria-label", `${knob.name}, value`);
}

function valueAt(knob, step) {
  if (step === SLIDER_STEPS / 2) return knob.written || knob.value;
  const number = knob.number * 10 ** (SLIDER_DECADES * (step / SLIDER_STEPS - 0.5));
  const rounded = knob.whole ? String(Math.max(1, Math.round(number))) : digits(number, 3);
  return knob.unit ? `${rounded} ${knob.unit}` : rounded;
}

function stepOf(knob) {
  const number = Number.parseFloat(knob.value);
  const unit = knob.value.replace(/^[-+.\d_eE]+\s*/, "");
  if (knob.number === null || !(number > 0) || unit !== knob.unit) return SLIDER_STEPS / 2;
  const step = SLIDER_STEPS * (Math.log10(number / knob.number) / SLIDER_DECADES + 0.5);
  return Math.round(Math.min(SLIDER_STEPS, Math.max(0, step)));
}

// ---- what changed

function showChanges(changes) {
  at("changed").textContent = changes ? `A: the last run; B: this run. ${changes.verdict}.` : "Nothing yet: save the file, or turn a parameter.";
  const place = at("differences");
  place.replaceChildren();
  if (!changes) return;
  if (changes.network.length) {
    const list = make("ul");
    list.append(...changes.network.map((line) => make("li", line)));
    place.append(list);
  }
  for (const note of changes.notes) place.append(make("p", note, "note"));
  if (!changes.rows.length) return;
  if (changes.rows.length < changes.of) place.append(make("p", `The ${changes.rows.length} largest of ${changes.of} differences:`, "note"));
  const scroll = make("div", null, "scroll");
  scroll.tabIndex = 0;
  // Of one run there is neither a verdict nor a p-value.
  const shownColumns = changes.rows.some((cells) => cells[6] !== "–") ? 7 : 5;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "What changed");
  const table = make("table");
  const head = table.createTHead().insertRow();
  for (const name of ["metric", "of", "A", "B", "B − A", "", "p"].slice(0, shownColumns)) head.append(make("th", name));
  const body = table.createTBody();
  for (const cells of changes.rows) {
    const row = body.insertRow();
    cells.slice(0, shownColumns).forEach((text, column) => {
      const cell = row.insertCell();
      cell.textContent = text;
      cell.className = column > 1 && column !== 5 ? "n" : "short";
    });
    row.className = cells[5] === "alike" ? "alike" : "";
  }
  scroll.append(table);
  place.append(scroll);
}

// ---- the run, by the report's parts

function showRun(state) {
  const place = at("run");
  const data = JSON.parse(state.data);
  const earlier = JSON.parse(state.earlier);
  for (const chart of data.charts) chart.before = earlier.find((each) => each.key === chart.key && each.kind === chart.kind && each.unit === chart.unit);
  const kept = keep(place);
  for (const player of players.splice(0)) player.stop();
  for (const chart of drawn.values()) chart.dispose();
  drawn.clear();
  listeners.length = 0;
  exhibits.set("x0", data);
  place.replaceChildren(...new DOMParser().parseFromString(state.html, "text/html").body.children);
  startTables(place);
  startPaths(place);
  startReplay(place);
  restore(place, kept);
  const places = [...place.querySelectorAll(".plot")];
  onTheme(() => { for (const each of drawn.keys()) drawChart(each); });
  if (charts) drawNear(places); else if (places.length) { charts = true; startCharts(); }
}

// What the reader had opened and where the slider of the replay stood.
function keep(place) {
  const slider = place.querySelector(".player .time");
  return { open: [...place.querySelectorAll("details")].map((each) => each.open), time: slider ? slider.value / slider.max : 0 };
}

function restore(place, kept) {
  const folded = [...place.querySelectorAll("details")];
  if (folded.length === kept.open.length) folded.forEach((each, number) => { each.open = kept.open[number]; });
  const slider = place.querySelector(".player .time");
  if (slider && kept.time) {
    slider.value = String(Math.round(kept.time * slider.max));
    for (const player of players) player.show();
  }
}

// ---- verify, and studies

function offerStudy(knobs) {
  const form = at("study");
  form.hidden = !knobs.length;
  const select = form.elements.parameter;
  const names = knobs.map((knob) => knob.name);
  if (names.join("\n") === [...select.options].map((each) => each.value).join("\n")) return;
  select.replaceChildren(...names.map((name) => make("option", name)));
  suggest(knobs);
  select.onchange = () => suggest(knobs);
}

function suggest(knobs) {
  const form = at("study");
  const knob = knobs.find((each) => each.name === form.elements.parameter.value);
  if (!knob) return;
  const steps = [0.35, 0.425, 0.5, 0.575, 0.65].map((share) => valueAt(knob, share * SLIDER_STEPS));
  form.elements.values.value = knob.number === null ? knob.value : [...new Set(steps)].join(", ");
}

function showErrand(errand) {
  at("errand").hidden = !errand;
  if (!errand) return;
  const ended = { [-15]: "stopped", 0: "done", 3: "a claim or an agreement does not hold", 4: "this machine cannot do it", 5: "some runs failed", 6: "undecided" };
  const going = errand.status === null;
  at("errand-state").textContent = `${errand.command}: ${going ? "running" : ended[errand.status] || `ended with status ${errand.status}`}`;
  at("errand-text").textContent = errand.text;
  at("stop").hidden = !going;
  at("verify").disabled = going;
  at("study").querySelector("button").disabled = going;
  at("study-report").hidden = !errand.report;
}

at("runs").addEventListener("change", () => turn(true));
at("reset").addEventListener("click", () => { overrides = {}; turn(true); });
at("verify").addEventListener("click", () => post("verify", {}));
at("stop").addEventListener("click", () => post("stop", {}));
at("other").addEventListener("submit", (event) => {
  event.preventDefault();
  const { path, value } = event.target.elements;
  if (path.value.trim() && value.value.trim()) set(path.value.trim(), value.value.trim(), true);
});
at("study").addEventListener("submit", (event) => {
  event.preventDefault();
  const { parameter, values, runs } = event.target.elements;
  const list = values.value.split(",").map((each) => each.trim()).filter(Boolean);
  post("study", { parameter: parameter.value, values: list, runs: Number(runs.value) });
});
startTheme();
const events = new EventSource("events");
events.addEventListener("message", (event) => {
  document.body.classList.toggle("busy", JSON.parse(event.data).busy);
  refresh();
});
events.addEventListener("error", () => { at("state").textContent = "The server has ended, or cannot be reached."; });

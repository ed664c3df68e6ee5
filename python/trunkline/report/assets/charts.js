// Charts are drawn when they come near the window, and again when the theme changes.
const drawn = new Map();
const DASHES = ["solid", [7, 4], [2, 3], [10, 3, 2, 3], "solid", [7, 4], [2, 3], [10, 3, 2, 3]];
// Signs of the lines, in a box of 10 by 10: circle, square, triangles, diamond, pentagon, cross, hexagon.
const SIGNS = [
  "M5 0A5 5 0 1 1 4.99 0Z", "M0.5 0.5H9.5V9.5H0.5Z", "M5 0L10 9.5H0Z", "M5 0L10 5L5 10L0 5Z",
  "M0 0.5H10L5 10Z", "M5 0L10 3.8L8.1 10H1.9L0 3.8Z", "M3.3 0H6.7V3.3H10V6.7H6.7V10H3.3V6.7H0V3.3H3.3Z", "M2.5 0.5H7.5L10 5L7.5 9.5H2.5L0 5Z",
];
const symbol = (line) => `path://${SIGNS[line.colour % 8]}`;
const tone = (line) => colour(`c${line.colour % 8}`);

async function unpack() {
  const holder = document.getElementById("library");
  if (!holder) return false;
  const packed = Uint8Array.from(atob(holder.textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  // The page's policy lets a script run only if its hash is that of the official file.
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  return typeof echarts !== "undefined";
}

async function startCharts() {
  const places = [...document.querySelectorAll(".plot")];
  if (!places.length) return;
  let ready = false;
  try { ready = await unpack(); } catch (error) { ready = false; }
  if (!ready) {
    for (const place of places) place.textContent = "This browser cannot unpack the charts; the tables hold the numbers.";
    return;
  }
  drawNear(places);
  addEventListener("resize", () => { for (const chart of drawn.values()) chart.resize(); });
  addEventListener("beforeprint", () => { for (const place of places) drawChart(place); });
  onTheme(() => { for (const place of drawn.keys()) drawChart(place); });
  document.documentElement.dataset.charts = "ready";
}

function drawNear(places) {
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { watcher.unobserve(entry.target); drawChart(entry.target); }
  }, { rootMargin: "900px" });
  for (const place of places) {
    const rows = Number(place.dataset.rows);
    if (rows > 12) place.style.height = `${Math.min(44, 20 + (rows - 12) * 0.6)}rem`;
    watcher.observe(place);
  }
}

function drawChart(place) {
  const data = exhibits.get(place.dataset.exhibit).charts.find((each) => each.key === place.dataset.chart);
  const old = drawn.get(place);
  if (old) old.dispose();
  const chart = echarts.init(place, null, { renderer: "canvas" });
  drawn.set(place, chart);
  const build = { line: lineOption, quantile: quantileOption, bar: barOption, against: againstOption }[data.kind];
  const hidden = hiddenOf.get(place) || new Set();
  hiddenOf.set(place, hidden);
  chart.setOption({ ...frameOption(data), ...build(data, place),
    legend: { show: false, selected: Object.fromEntries([...hidden].flatMap(namesOf).map((name) => [name, false])) } });
  if (!old) place.after(keyOf(data, place, hidden));
}

const hiddenOf = new Map();
// The series that belong to a line: what it is beside, and what is published of it.
function namesOf(name) { return [name, `${name} (band)`, `${name}, published`, `${name}, last run`]; }

// The names of the lines below a chart, wrapped as text is; a press hides a line or shows it again.
function keyOf(data, place, hidden) {
  const list = make("ul", null, "key");
  for (const line of data.lines) {
    const entry = make("li");
    const name = make(data.lines.length > 1 ? "button" : "span");
    name.append(swatch(line, data.kind), line.name);
    if (data.lines.length > 1) {
      name.type = "button";
      name.setAttribute("aria-pressed", "true");
      name.addEventListener("click", () => {
        const shown = hidden.delete(line.name);
        if (!shown) hidden.add(line.name);
        name.setAttribute("aria-pressed", String(shown));
        for (const each of namesOf(line.name)) drawn.get(place).dispatchAction({ type: shown ? "legendSelect" : "legendUnSelect", name: each });
      });
    }
    entry.append(name);
    list.append(entry);
  }
  return list;
}

function swatch(line, kind) {
  const svg = makeSvg("svg", { class: `c${line.colour % 8}`, width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": "true" });
  if (kind === "bar") svg.append(makeSvg("path", { d: "M2 0H24V10H2Z", fill: "currentColor" }));
  if (kind === "line" || kind === "quantile") {
    const dash = DASHES[line.colour % 8];
    svg.append(makeSvg("path", { d: "M0 5H26", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": dash === "solid" ? "none" : dash.join(" ") }));
  }
  if (kind === "quantile" || kind === "against") svg.append(makeSvg("path", { d: SIGNS[line.colour % 8], transform: "translate(8 0)", fill: "currentColor" }));
  return svg;
}

function frameOption(data) {
  return {
    animation: false,
    textStyle: { color: colour("soft"), fontFamily: "system-ui, sans-serif" },
    grid: { left: 8, right: 24, top: data.marks || data.kind === "against" ? 30 : 14, bottom: 8, containLabel: true },
    tooltip: tooltip({ trigger: "axis" }),
  };
}

function tooltip(more) {
  return { renderMode: "richText", confine: true, backgroundColor: colour("panel"), borderColor: colour("rule"),
    textStyle: { color: colour("ink"), fontSize: 12 }, ...more };
}

function axis(more) {
  return { axisLine: { onZero: false, lineStyle: { color: colour("soft") } }, axisLabel: { color: colour("soft"), hideOverlap: true },
    splitLine: { lineStyle: { color: colour("rule") } }, nameTextStyle: { color: colour("soft") }, ...more };
}

function timeAxis(end) {
  return axis({ type: "value", min: 0, max: end, splitLine: { show: false },
    axisLabel: { color: colour("soft"), hideOverlap: true, formatter: (value) => `${digits(value, 6)} s` } });
}

function valueAxis(unit, more) {
  const own = ["%", "s", "bit/s"].includes(unit);
  return axis({ type: "value", axisLabel: { color: colour("soft"), hideOverlap: true, formatter: (value) => quantity(value, own ? unit : "") }, ...more });
}

function lineOption(data) {
  const series = [];
  data.lines.forEach((line, index) => {
    if (line.low) series.push(bandOf(line, data.x));
    series.push({
      name: line.name, type: "line", symbol: "none", z: 3,
      itemStyle: { color: tone(line) },
      lineStyle: { width: 1.8, color: tone(line), type: DASHES[line.colour % 8] },
      data: line.values.map((value, at) => [data.x[at], value === null ? "-" : value]),
      markLine: index ? undefined : marksOf(data),
    });
  });
  // The same lines of an earlier run, where a live page has one.
  for (const line of data.before ? data.before.lines : []) {
    series.push({
      name: `${line.name}, last run`, type: "line", symbol: "none", z: 2, itemStyle: { color: tone(line), opacity: 0.45 },
      lineStyle: { width: 1.4, color: tone(line), type: [1, 3], opacity: 0.6 },
      data: line.values.map((value, at) => [data.before.x[at], value === null ? "-" : value]),
    });
  }
  return {
    xAxis: timeAxis(data.end), yAxis: valueAxis(data.unit, { min: (range) => Math.min(0, range.min), max: (range) => (data.unit === "%" && range.max <= 1.02 ? 1 : null) }), series,
    tooltip: tooltip({ trigger: "axis", formatter: (items) => tip(items, data) }),
    dataZoom: [{ type: "inside", xAxisIndex: 0, zoomOnMouseWheel: "ctrl", filterMode: "none" }],
  };
}

function tip(items, data) {
  const shown = items.filter((item) => item.seriesType === "line");
  if (!shown.length) return "";
  const rows = [`${digits(shown[0].value[0], 7)} s`];
  for (const item of shown) {
    const value = item.value[1] === "-" ? null : item.value[1];
    rows.push(`${item.marker || ""} ${item.seriesName}: ${quantity(value, data.unit)}`);
  }
  return rows.join("\n");
}

// A band from the least to the greatest value, drawn as one shape.
function bandOf(line, x) {
  const points = [];
  line.low.forEach((low, at) => {
    if (low !== null && line.high[at] !== null) points.push([x[at], low, line.high[at]]);
  });
  return {
    type: "custom", name: `${line.name} (band)`, silent: true, z: 1, tooltip: { show: false }, data: points, encode: { x: 0, y: [1, 2] },
    renderItem: (params, api) => params.dataIndexInside > 0 ? undefined : ({
      type: "polygon",
      shape: { points: [
        ...points.map(([at, , high]) => api.coord([at, high])),
        ...points.slice().reverse().map(([at, low]) => api.coord([at, low])),
      ] },
      clipPath: { type: "rect", shape: { x: params.coordSys.x, y: params.coordSys.y, width: params.coordSys.width, height: params.coordSys.height } },
      style: { fill: tone(line), opacity: 0.2 },
    }),
  };
}

function marksOf(data) {
  if (!data.marks || !data.marks.length) return undefined;
  return {
    symbol: "none", silent: true, animation: false,
    lineStyle: { color: colour("soft"), type: "dashed", width: 1 },
    label: { color: colour("soft"), fontSize: 10, formatter: (item) => item.name, position: "end", rotate: 0 },
    // Beside the ends of the axis a name would reach over its labels.
    data: data.marks.map((mark) => ({ xAxis: mark.x, name: mark.name, label: { align: mark.x < 0.12 * data.end ? "left" : mark.x > 0.88 * data.end ? "right" : "center" } })),
  };
}

function quantileOption(data) {
  const smallest = Math.min(...data.lines.flatMap((line) => line.x).filter((value) => value > 0));
  const largest = Math.max(...data.lines.flatMap((line) => line.x));
  const wide = largest / smallest > 50;
  return {
    xAxis: valueAxis("s", { type: wide ? "log" : "value", scale: true, splitLine: { show: false } }),
    yAxis: axis({ type: "value", min: 0, max: 1, axisLabel: { color: colour("soft"), formatter: (value) => `${Math.round(100 * value)} %` } }),
    tooltip: tooltip({ trigger: "item",
      formatter: (item) => `${item.seriesName}\n${digits(100 * item.value[1], 4)} % took at most ${quantity(item.value[0], "s")}` }),
    series: data.lines.map((line) => ({
      name: line.name, type: "line", symbol: symbol(line), symbolSize: 7,
      itemStyle: { color: tone(line) }, lineStyle: { width: 1.8, type: DASHES[line.colour % 8] },
      data: line.values.map((share, at) => [line.x[at], share]),
    })),
  };
}

function barOption(data, place) {
  const totals = data.categories.map((_, at) => data.lines.reduce((sum, line) => sum + line.values[at], 0));
  const series = data.lines.map((line, index) => ({
    name: line.name, type: "bar", stack: "all", barMaxWidth: 26, data: line.values,
    itemStyle: { color: tone(line), borderColor: colour("paper"), borderWidth: 1,
      decal: index % 2 ? { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: 0.6, color: "rgba(255,255,255,.35)" } : undefined },
  }));
  series.push({ type: "bar", stack: "all", silent: true, data: totals.map(() => 0),
    label: { show: true, position: "right", color: colour("ink"), formatter: (item) => digits(totals[item.dataIndex], 4) } });
  return {
    grid: { left: 8, right: 56, top: 10, bottom: 8, containLabel: true },
    xAxis: valueAxis(""),
    yAxis: axis({ type: "category", inverse: true, data: data.categories, splitLine: { show: false }, axisTick: { show: false },
      axisLabel: { color: colour("soft"), width: 0.4 * place.clientWidth, overflow: "truncate" } }),
    tooltip: tooltip({ trigger: "axis", axisPointer: { type: "shadow" }, formatter: (items) => [items[0].name, ...items.filter((item) => item.value)
      .map((item) => `${item.marker} ${item.seriesName}: ${digits(item.value, 4)} ${data.unit}`)].join("\n") }),
    series,
  };
}

// Where the rows of a table stand: at their numbers where they are many of one unit, else side by side.
function places(rows) {
  const read = rows.map((row) => /^(-?[\d.]+) ?(\S*)$/.exec(row));
  const rising = read.every((each, at) => each && each[2] === read[0][2] && (!at || Number(each[1]) > Number(read[at - 1][1])));
  if (rows.length <= 12 || !rising) return { at: (row) => row, apart: 1, axis: { min: -0.5, max: rows.length - 0.5, interval: 1,
    axisLabel: { color: colour("soft"), hideOverlap: true, showMaxLabel: true, rotate: rows.length > 8 || rows.join("").length > 90 ? 40 : 0, margin: 14, formatter: (value) => rows[value] || "", customValues: rows.map((_, row) => row) } } };
  const numbers = read.map((each) => Number(each[1]));
  const apart = Math.min(...numbers.slice(1).map((each, at) => each - numbers[at]));
  return { at: (row) => numbers[row], apart, axis: { min: numbers[0] - apart, max: numbers.at(-1) + apart,
    axisLabel: { color: colour("soft"), hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (value) => `${value} ${read[0][2]}`.trim() } } };
}

// Ours as filled signs with intervals, the published values hollow beside them.
function againstOption(data) {
  const count = data.lines.length;
  const rows = data.categories;
  const where = places(rows);
  const series = [];
  data.lines.forEach((line, index) => {
    const shift = where.apart * (index - (count - 1) / 2) * Math.min(0.16, 0.7 / count);
    const at = (row) => where.at(row) + shift;
    const kept = (values) => values.flatMap((value, row) => (value === null ? [] : [[at(row), value, row]]));
    series.push({ name: line.name, type: "scatter", symbol: symbol(line), symbolSize: 9, z: 3,
      itemStyle: { color: tone(line) }, data: kept(line.values) });
    const bars = line.low ? line.low.flatMap((low, row) => (low === null || line.high[row] === null || low === line.high[row] ? [] : [[at(row), low, line.high[row]]])) : [];
    series.push({ name: `${line.name} (band)`, type: "custom", clip: true, silent: true, z: 2, data: bars, encode: { x: 0, y: [1, 2] },
      renderItem: (params, api) => {
        const low = api.coord([api.value(0), api.value(1)]);
        const high = api.coord([api.value(0), api.value(2)]);
        const stroke = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: tone(line), lineWidth: 1.6 } });
        return { type: "group", children: [stroke(low[0], low[1], high[0], high[1]),
          stroke(low[0] - 4, low[1], low[0] + 4, low[1]), stroke(high[0] - 4, high[1], high[0] + 4, high[1])] };
      } });
    if (line.x) {
      series.push({ name: `${line.name}, published`, type: "scatter", symbol: symbol(line), symbolSize: 13, z: 4,
        itemStyle: { color: "transparent", borderColor: tone(line), borderWidth: 2 }, data: kept(line.x) });
    }
  });
  // Times, rates and packets are not below zero, though an interval may reach there; a gain in per cent is.
  const least = Math.min(...data.lines.flatMap((line) => [...line.values, ...(line.x || [])]).filter((value) => value !== null));
  const unit = ["s", "bit/s"].includes(data.unit) ? "" : `[${data.unit === "%" ? "per cent" : data.unit}]`;
  return {
    grid: { left: 8, right: 16, top: 30, bottom: 8, containLabel: true },
    xAxis: axis({ type: "value", splitLine: { show: false }, axisTick: { show: false }, ...where.axis }),
    yAxis: valueAxis(data.unit === "%" ? "per cent" : data.unit, { name: unit, nameLocation: "end",
      nameTextStyle: { color: colour("soft"), align: "left" }, min: data.unit !== "%" && least >= 0 ? 0 : null }),
    tooltip: tooltip({ trigger: "item", formatter: (item) => `${item.seriesName}\n${rows[item.value[2]]}: ${digits(item.value[1], 4)} ${data.unit}` }),
    series,
  };
}

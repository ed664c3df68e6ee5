// Charts are drawn when they come near the window, and again when the theme changes.
const drawn = new Map();
const DASHES = ["solid", [7, 4], [2, 3], [10, 3, 2, 3], "solid", [7, 4], [2, 3], [10, 3, 2, 3]];
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "pin", "arrow", "roundRect", "circle"];

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
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { watcher.unobserve(entry.target); drawChart(entry.target); }
  }, { rootMargin: "900px" });
  for (const place of places) {
    const rows = Number(place.dataset.rows);
    if (rows > 12) place.style.height = `${Math.min(44, 20 + (rows - 12) * 0.6)}rem`;
    watcher.observe(place);
  }
  addEventListener("resize", () => { for (const chart of drawn.values()) chart.resize(); });
  addEventListener("beforeprint", () => { for (const place of places) drawChart(place); });
  onTheme(() => { for (const place of drawn.keys()) drawChart(place); });
  document.documentElement.dataset.charts = "ready";
}

function drawChart(place) {
  const data = exhibits.get(place.dataset.exhibit).charts.find((each) => each.key === place.dataset.chart);
  const old = drawn.get(place);
  if (old) old.dispose();
  const chart = echarts.init(place, null, { renderer: "canvas" });
  drawn.set(place, chart);
  const build = { line: lineOption, quantile: quantileOption, bar: barOption, against: againstOption }[data.kind];
  chart.setOption({ ...frameOption(data, place), ...build(data) });
  place.dataset.drawn = "yes";
}

function frameOption(data, place) {
  const soft = colour("soft");
  const narrow = place.clientWidth < 480;
  return {
    animation: false,
    color: [0, 1, 2, 3, 4, 5, 6, 7].map((index) => colour(`c${index}`)),
    textStyle: { color: soft, fontFamily: "system-ui, sans-serif" },
    grid: { left: 8, right: 24, top: 34, bottom: 44, containLabel: true },
    legend: { type: "scroll", bottom: 0, textStyle: { color: colour("ink") }, pageTextStyle: { color: soft },
      pageIconColor: soft, itemWidth: 24, itemHeight: 10, itemGap: narrow ? 8 : 14 },
    tooltip: { trigger: "axis", renderMode: "richText", confine: true, backgroundColor: colour("panel"),
      borderColor: colour("rule"), textStyle: { color: colour("ink"), fontSize: 12 } },
    toolbox: { show: false },
  };
}

function axis(more) {
  return { axisLine: { onZero: false, lineStyle: { color: colour("soft") } }, axisLabel: { color: colour("soft"), hideOverlap: true },
    splitLine: { lineStyle: { color: colour("rule") } }, nameTextStyle: { color: colour("soft") }, ...more };
}

function timeAxis() {
  return axis({ type: "value", min: "dataMin", max: "dataMax", splitLine: { show: false },
    axisLabel: { color: colour("soft"), hideOverlap: true, formatter: (value) => `${digits(value, 6)} s` } });
}

function valueAxis(unit, more) {
  const name = unit === "%" || unit === "s" || unit === "bit/s" ? "" : `[${unit}]`;
  return axis({ type: "value", name, nameLocation: "end", nameTextStyle: { color: colour("soft"), align: "left" },
    axisLabel: { color: colour("soft"), formatter: (value) => quantity(value, ["%", "s", "bit/s"].includes(unit) ? unit : "") }, ...more });
}

function lineOption(data) {
  const series = [];
  data.lines.forEach((line, index) => {
    const tone = colour(`c${index % 8}`);
    if (line.low) series.push(bandOf(line, data.x, tone));
    series.push({
      name: line.name, type: "line", symbol: "none", z: 3,
      itemStyle: { color: tone },
      lineStyle: { width: 1.8, color: tone, type: DASHES[index % 8] },
      data: line.values.map((value, at) => [data.x[at], value === null ? "-" : value]),
      markLine: index ? undefined : marksOf(data),
    });
  });
  return {
    xAxis: timeAxis(), yAxis: valueAxis(data.unit, { min: (range) => Math.min(0, range.min), max: (range) => (data.unit === "%" && range.max <= 1.02 ? 1 : null) }), series,
    legend: { ...frameOption(data, { clientWidth: 900 }).legend, data: data.lines.map((line) => line.name) },
    tooltip: { ...frameOption(data, { clientWidth: 900 }).tooltip, formatter: (items) => tip(items, data) },
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
function bandOf(line, x, tone) {
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
      style: { fill: tone, opacity: 0.2 },
    }),
  };
}

function marksOf(data) {
  if (!data.marks || !data.marks.length) return undefined;
  return {
    symbol: "none", silent: true, animation: false,
    lineStyle: { color: colour("soft"), type: "dashed", width: 1 },
    label: { color: colour("soft"), fontSize: 10, formatter: (item) => item.name, position: "end", rotate: 0 },
    data: data.marks.map((mark) => ({ xAxis: mark.x, name: mark.name })),
  };
}

function quantileOption(data) {
  const smallest = Math.min(...data.lines.flatMap((line) => line.x).filter((value) => value > 0));
  const largest = Math.max(...data.lines.flatMap((line) => line.x));
  const wide = largest / smallest > 50;
  return {
    xAxis: valueAxis("s", { type: wide ? "log" : "value", scale: true, splitLine: { show: false },
      axisLabel: { color: colour("soft"), hideOverlap: true, formatter: (value) => quantity(value, "s") } }),
    yAxis: axis({ type: "value", min: 0, max: 1, axisLabel: { color: colour("soft"), formatter: (value) => `${Math.round(100 * value)} %` } }),
    tooltip: { ...frameOption(data, { clientWidth: 900 }).tooltip, trigger: "item",
      formatter: (item) => `${item.seriesName}\n${digits(100 * item.value[1], 4)} % took at most ${quantity(item.value[0], "s")}` },
    series: data.lines.map((line, index) => ({
      name: line.name, type: "line", symbol: SYMBOLS[index % 8], symbolSize: 7,
      itemStyle: { color: colour(`c${index % 8}`) }, lineStyle: { width: 1.8, type: DASHES[index % 8] },
      data: line.values.map((share, at) => [line.x[at], share]),
    })),
  };
}

function barOption(data) {
  return {
    grid: { left: 8, right: 40, top: 10, bottom: 40, containLabel: true },
    xAxis: valueAxis("", { name: "" }),
    yAxis: axis({ type: "category", inverse: true, data: data.categories, splitLine: { show: false } }),
    tooltip: { ...frameOption(data, { clientWidth: 900 }).tooltip, axisPointer: { type: "shadow" } },
    series: data.lines.map((line, index) => ({
      name: line.name, type: "bar", stack: "all", barMaxWidth: 26, data: line.values,
      itemStyle: { color: colour(`c${index % 8}`), borderColor: colour("paper"), borderWidth: 1,
        decal: index % 2 ? { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: 0.6, color: "rgba(255,255,255,.35)" } : undefined },
    })),
  };
}

// Ours as filled signs with intervals, the published values hollow beside them.
function againstOption(data) {
  const count = data.lines.length;
  const series = [];
  data.lines.forEach((line, index) => {
    const tone = colour(`c${index % 8}`);
    const shift = (index - (count - 1) / 2) * Math.min(0.16, 0.7 / count);
    const at = (row) => row + shift;
    const kept = (values) => values.flatMap((value, row) => (value === null ? [] : [[at(row), value]]));
    series.push({ name: line.name, type: "scatter", symbol: SYMBOLS[index % 8], symbolSize: 9, z: 3,
      itemStyle: { color: tone }, data: kept(line.values) });
    const bars = line.low ? line.low.flatMap((low, row) => (low === null || line.high[row] === null ? [] : [[at(row), low, line.high[row]]])) : [];
    series.push({ name: `${line.name} (interval)`, type: "custom", silent: true, z: 2, data: bars, encode: { x: 0, y: [1, 2] },
      renderItem: (params, api) => {
        const low = api.coord([api.value(0), api.value(1)]);
        const high = api.coord([api.value(0), api.value(2)]);
        const line2 = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: tone, lineWidth: 1.6 } });
        return { type: "group", children: [line2(low[0], low[1], high[0], high[1]),
          line2(low[0] - 4, low[1], low[0] + 4, low[1]), line2(high[0] - 4, high[1], high[0] + 4, high[1])] };
      } });
    if (line.x) {
      series.push({ name: `${line.name}, published`, type: "scatter", symbol: SYMBOLS[index % 8], symbolSize: 13, z: 4,
        itemStyle: { color: "transparent", borderColor: tone, borderWidth: 2 }, data: kept(line.x) });
    }
  });
  const rows = data.categories;
  const names = data.lines.flatMap((line) => (line.x ? [line.name, `${line.name}, published`] : [line.name]));
  return {
    grid: { left: 8, right: 16, top: 30, bottom: 44, containLabel: true },
    xAxis: axis({ type: "value", min: -0.5, max: rows.length - 0.5, interval: 1, splitLine: { show: false }, axisTick: { show: false },
      axisLabel: { color: colour("soft"), hideOverlap: true, margin: 14, formatter: (value) => (Number.isInteger(value) ? rows[value] || "" : ""), customValues: rows.map((_, row) => row) } }),
    yAxis: valueAxis(data.unit === "%" ? "per cent" : data.unit === "s" ? "s" : data.unit, {}),
    legend: { ...frameOption(data, { clientWidth: 900 }).legend, data: names, itemWidth: 12, itemHeight: 10 },
    tooltip: { ...frameOption(data, { clientWidth: 900 }).tooltip, trigger: "item",
      formatter: (item) => `${item.seriesName}\n${rows[Math.round(item.value[0])]}: ${digits(item.value[1], 4)} ${data.unit}` },
    series,
  };
}

// The slider: loads, queues, failures and path states at one time of the first run.
const CLOSE_STEPS = 1000;
const LEVELS = [25, 50, 75, 95];
const players = [];

function startReplay(root = document) {
  for (const panel of root.querySelectorAll(".player")) {
    const data = exhibits.get(panel.dataset.exhibit);
    if (data.replay) players.push(new Player(panel, data));
  }
}

class Player {
  constructor(panel, data) {
    this.panel = panel;
    this.data = data;
    this.replay = data.replay;
    const section = document.getElementById(data.key);
    this.lanes = new Map();
    for (const lane of section.querySelectorAll(".lane")) {
      this.lanes.set(Number(lane.dataset.link), { lane, whole: lane.getAttribute("class") });
    }
    this.states = [...section.querySelectorAll(".state")];
    this.gauges = section.querySelector(".gauges");
    this.drawing = section.querySelector(".drawing");
    this.slider = panel.querySelector(".time");
    this.now = panel.querySelector(".now");
    this.happened = panel.querySelector(".happened");
    this.button = panel.querySelector(".play");
    this.speed = panel.querySelector(".speed");
    this.closely = panel.querySelector(".closely");
    this.closer = data.packets ? new Closer(section, data) : null;
    this.queueMost = Math.max(1, ...this.replay.links.flatMap((link) => link.queue));
    panel.hidden = false;
    this.slider.max = String(this.replay.times.length);
    this.slider.addEventListener("input", () => this.show());
    this.button.addEventListener("click", () => this.toggle());
    if (this.closely) this.closely.addEventListener("change", () => this.switchMode());
    onTheme(() => this.show());
    this.show();
  }

  get close() { return Boolean(this.closely && this.closely.checked); }

  switchMode() {
    this.stop();
    this.slider.max = String(this.close ? CLOSE_STEPS : this.replay.times.length);
    this.slider.value = "0";
    this.show();
  }

  toggle() { if (this.timer) this.stop(); else this.play(); }

  play() {
    if (Number(this.slider.value) >= Number(this.slider.max)) this.slider.value = "0";
    this.button.setAttribute("aria-pressed", "true");
    this.button.textContent = "❚❚ Pause";
    this.last = performance.now();
    this.exact = Number(this.slider.value);
    const whole = this.close ? 60 : 30;
    const advance = (at) => {
      if (!this.timer) return;
      const share = ((at - this.last) / 1000 / whole) * Number(this.speed.value);
      this.last = at;
      this.exact += share * Number(this.slider.max);
      this.slider.value = String(Math.min(Math.round(this.exact), Number(this.slider.max)));
      this.show();
      if (this.exact >= Number(this.slider.max)) this.stop();
      else this.timer = requestAnimationFrame(advance);
    };
    this.timer = requestAnimationFrame(advance);
  }

  stop() {
    if (this.timer) cancelAnimationFrame(this.timer);
    this.timer = null;
    this.button.setAttribute("aria-pressed", "false");
    this.button.textContent = "▶ Play";
  }

  show() {
    const at = Number(this.slider.value);
    if (this.close) {
      const { start, end } = this.data.packets;
      const time = start + ((end - start) * at) / CLOSE_STEPS;
      this.closer.show(time);
      this.step(Math.max(0, this.replay.times.findIndex((each) => each >= time / 1e9)), time / 1e9, true);
      return;
    }
    if (this.closer) this.closer.hide();
    if (at === 0) this.whole();
    else this.step(at - 1, this.replay.times[at - 1], false);
  }

  whole() {
    this.drawing.classList.remove("moment");
    for (const { lane, whole } of this.lanes.values()) lane.setAttribute("class", whole);
    this.gauges.replaceChildren();
    for (const state of this.states) { state.textContent = ""; state.className = "state"; }
    this.happened.textContent = "";
    this.tell("whole run");
  }

  tell(text) {
    this.now.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
  }

  step(index, time, exact) {
    this.drawing.classList.add("moment");
    const from = exact ? time : time - this.replay.step;
    const down = new Set(this.replay.down.filter(([, since, until]) => since <= time && until > from).map(([link]) => link));
    const gauges = [];
    for (const each of this.replay.links) {
      const { lane } = this.lanes.get(each.link);
      const use = each.use[index];
      const level = use > 0 ? `u${LEVELS.filter((limit) => use >= limit).length}` : "idle";
      const lost = each.drops.length && each.drops[index] > 0;
      lane.setAttribute("class", `lane ${level}${lost ? " lossy" : ""}${down.has(each.link) ? " down" : ""}`);
      if (!exact && each.queue.length && each.queue[index] > 0) gauges.push(this.gauge(each.link, each.queue[index], lost));
    }
    for (const link of down) this.lanes.get(link).lane.classList.add("down");
    this.gauges.replaceChildren(...gauges);
    this.replay.paths.forEach((path, number) => {
      const current = path.states.filter(([since]) => since <= time).at(-1);
      for (const state of this.states.filter((each) => Number(each.dataset.path) === number)) {
        state.textContent = current[2];
        state.className = `state ${current[1]}`;
      }
    });
    const since = exact ? time - 0.1 : from;
    const events = this.replay.events.filter((event) => event.time > since - 1e-12 && event.time <= time);
    const words = events.map((event) => `${digits(event.time, 7)} s: ${event.text}`).join("; ");
    if (this.happened.textContent !== words) this.happened.textContent = words;
    this.tell(exact ? `${digits(time, 9)} s` : `${digits(time, 7)} s`);
  }

  // A bar at the start of the arrow, as long as the queue: full length is its limit, or the most seen.
  gauge(link, packets, lost) {
    const { line, limit, name } = this.data.links[link];
    const [x1, y1, x2, y2] = line;
    const long = Math.hypot(x2 - x1, y2 - y1) || 1;
    const [ux, uy] = [(x2 - x1) / long, (y2 - y1) / long];
    const share = Math.min(1, packets / (limit || this.queueMost));
    const size = share * Math.min(34, 0.4 * long);
    const [nx, ny] = [uy * 8, -ux * 8];
    const [x, y] = [x1 + nx, y1 + ny];
    const bar = makeSvg("polygon", {
      class: `gauge${lost || share > 0.95 ? " full" : ""}`,
      points: [[x, y], [x + ux * size, y + uy * size], [x + ux * size + nx * 0.6, y + uy * size + ny * 0.6], [x + nx * 0.6, y + ny * 0.6]]
        .map((point) => point.map((value) => value.toFixed(1)).join(",")).join(" "),
    });
    const title = makeSvg("title", {});
    title.textContent = `${name}: ${packets} packets at the port${limit ? ` of ${limit}` : ""}`;
    bar.append(title);
    return bar;
  }
}

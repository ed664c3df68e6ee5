// Single packets of a short window: where each is at a time, and the story of the chosen one.
const MOST_BUTTONS = 120;

class Closer {
  constructor(section, data) {
    this.data = data;
    this.window = data.packets;
    this.layer = section.querySelector(".packets");
    this.panel = section.querySelector(".closer");
    this.list = this.panel.querySelector(".list");
    this.story = this.panel.querySelector(".story");
    this.marks = new Map();
    this.buttons = new Map();
    this.chosen = null;
    for (const trip of this.window.trips) {
      const first = trip.hops.length ? trip.hops[0][1] : trip.fate[1];
      const last = trip.fate ? trip.fate[1] : Infinity;
      trip.from = first;
      trip.until = last + (trip.fate && trip.fate[0] === "dropped" ? 0.01 * (this.window.end - this.window.start) : 0);
    }
  }

  hide() {
    this.panel.hidden = true;
    this.layer.replaceChildren();
    this.list.replaceChildren();
    this.marks.clear();
    this.buttons.clear();
  }

  show(time) {
    const now = time - this.window.start;
    this.panel.hidden = false;
    const present = this.window.trips.filter((trip) => trip.from <= now && trip.until >= now);
    const seen = new Set();
    for (const trip of present) {
      seen.add(trip.packet);
      const place = this.place(trip, now);
      let mark = this.marks.get(trip.packet);
      if (!mark) {
        mark = makeSvg("circle", { class: this.className(trip), r: trip.back ? 3.5 : 5 });
        const title = makeSvg("title", {});
        title.textContent = this.name(trip);
        mark.append(title);
        mark.addEventListener("click", () => this.choose(trip));
        this.marks.set(trip.packet, mark);
        this.layer.append(mark);
      }
      mark.setAttribute("cx", place[0].toFixed(1));
      mark.setAttribute("cy", place[1].toFixed(1));
    }
    for (const [packet, mark] of this.marks) {
      if (!seen.has(packet)) { mark.remove(); this.marks.delete(packet); }
    }
    this.offer(present.slice(0, MOST_BUTTONS));
  }

  offer(trips) {
    const wanted = new Set(trips.map((trip) => trip.packet));
    for (const [packet, button] of this.buttons) {
      if (!wanted.has(packet)) { button.remove(); this.buttons.delete(packet); }
    }
    for (const trip of trips) {
      if (this.buttons.has(trip.packet)) continue;
      const button = make("button", this.name(trip));
      button.type = "button";
      button.setAttribute("aria-pressed", String(this.chosen === trip));
      button.addEventListener("click", () => this.choose(trip));
      this.buttons.set(trip.packet, button);
      this.list.append(button);
    }
  }

  className(trip) {
    return `packet c${trip.flow % 8}${trip.back ? " back" : ""}${this.chosen === trip ? " chosen" : ""}`;
  }

  name(trip) {
    const what = trip.back ? `ACK ${trip.ack}` : `${trip.seq}${trip.again ? " again" : ""}`;
    return `${this.data.flows[trip.flow]} ${what}`;
  }

  // On the wire from the first bit sent to the last received; before that at the port.
  place(trip, now) {
    let hop = trip.hops[0];
    for (const each of trip.hops) if (each[1] <= now) hop = each;
    if (!hop) return [0, 0];
    const [x1, y1, x2, y2] = this.data.links[hop[0]].line;
    const [, queued, wait, arrived] = hop;
    const begins = wait < 0 ? Infinity : queued + wait;
    const link = this.data.links[hop[0]];
    const ends = arrived >= 0 ? arrived : begins + link.delay + (8e9 * (trip.bytes + link.header)) / link.rate;
    let share = now <= begins ? 0 : Math.min(1, (now - begins) / Math.max(1, ends - begins));
    if (trip.fate && trip.fate[0] === "dropped" && now >= trip.fate[1]) share = Math.max(share, 0);
    return [x1 + share * (x2 - x1), y1 + share * (y2 - y1)];
  }

  choose(trip) {
    const before = this.chosen;
    this.chosen = trip;
    for (const each of [before, trip]) {
      if (!each) continue;
      const mark = this.marks.get(each.packet);
      if (mark) mark.setAttribute("class", this.className(each));
      const button = this.buttons.get(each.packet);
      if (button) button.setAttribute("aria-pressed", String(each === trip));
    }
    this.tell(trip);
  }

  tell(trip) {
    const at = (ns) => `${digits((this.window.start + ns) / 1e9, 10)} s`;
    const kind = trip.back ? `acknowledgement, next expected ${trip.ack}` : `data, number ${trip.seq}${trip.again ? ", sent again" : ""}`;
    const head = make("h4", `Packet ${trip.packet} of ${this.data.flows[trip.flow]}`);
    const about = make("p", `${kind}; ${trip.bytes} B of IP, ${trip.dscp}`);
    const table = make("table");
    const row = table.createTHead().insertRow();
    for (const name of ["link", "class", "labels", "at the port", "waited", "arrived"]) row.append(make("th", name));
    const body = table.createTBody();
    for (const [link, queued, wait, arrived, stack, ofClass] of trip.hops) {
      const cells = [this.data.links[link].name, ofClass, stack || "none", at(queued),
        wait < 0 ? "never sent" : quantity(wait / 1e9, "s"), arrived < 0 ? "–" : at(arrived)];
      const line = body.insertRow();
      for (const cell of cells) line.insertCell().textContent = cell;
    }
    const fates = {
      delivered: () => `Delivered at ${trip.fate[2]}, ${at(trip.fate[1])}: ${quantity((trip.fate[1] - trip.from) / 1e9, "s")} after it was sent.`,
      dropped: () => `Dropped at ${trip.fate[2]}, ${at(trip.fate[1])}: ${trip.fate[3]}.`,
    };
    const fate = make("p", trip.fate ? fates[trip.fate[0]]() : "Still on its way at the end of the window.", "fate");
    const scroll = make("div", null, "scroll");
    scroll.append(table);
    this.story.replaceChildren(head, about, scroll, make("p", "Labels from the top: label/TC/TTL.", "note"), fate);
  }
}

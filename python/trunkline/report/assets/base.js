"use strict";
// Data of the page, and small helpers. Names from users are only ever set as text.
const exhibits = new Map();
for (const holder of document.querySelectorAll("script.data")) {
  const data = JSON.parse(holder.textContent);
  exhibits.set(data.key, data);
}

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (className) element.className = className;
  return element;
}

function makeSvg(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// A number with a metric prefix, three or four digits: 12.3 Mbit/s, 4.56 ms, 7.8 %.
function quantity(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (unit === "%") return `${digits(100 * value, 3)} %`;
  let factor = 1;
  let prefix = "";
  const size = Math.abs(value);
  if (unit === "bit/s") {
    for (const [limit, sign] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (size >= limit) { factor = limit; prefix = sign; break; }
    }
  } else if (unit === "s" && size < 1e-12) {
    value = 0; // less than a thousandth of the clock's ns: what an average has left over
  } else if (unit === "s" && size < 1) {
    for (const [limit, sign] of [[1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]]) {
      factor = limit; prefix = sign;
      if (size >= limit) break;
    }
  }
  return `${digits(value / factor, 4)} ${prefix}${unit}`.trim();
}

function digits(value, count) {
  if (value === 0) return "0";
  const places = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
  const text = value.toFixed(Math.min(places, 12));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

const listeners = [];
function onTheme(redraw) { listeners.push(redraw); }

function dark() {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function startTheme() {
  const button = document.getElementById("theme");
  button.hidden = false;
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  name();
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    name();
    for (const redraw of listeners) redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    name();
    for (const redraw of listeners) redraw();
  });
}

"use strict";
// The folder's listing, shown again whenever the server sends it. Names are set as text.
const rows = document.getElementById("rows");
const state = document.getElementById("state");

function cell(row, content, className = "short") {
  const made = row.insertCell();
  made.className = className;
  made.append(content);
  return made;
}

function show(entries) {
  rows.replaceChildren();
  for (const entry of entries) {
    const row = rows.insertRow();
    let name = entry.path || "this folder";
    if (entry.report) {
      const link = document.createElement("a");
      link.href = `files/${entry.path ? `${entry.path.split("/").map(encodeURIComponent).join("/")}/` : ""}report.html`;
      link.textContent = name;
      name = link;
    }
    cell(row, name, "folder");
    cell(row, entry.name, "what");
    cell(row, entry.kind);
    cell(row, entry.state);
    const progress = cell(row, `${entry.done} of ${entry.of}`);
    if (entry.done < entry.of) {
      const bar = document.createElement("progress");
      bar.max = entry.of;
      bar.value = entry.done;
      bar.setAttribute("aria-label", `${entry.done} of ${entry.of} runs`);
      progress.append(" ", bar);
    }
    // Year first, whatever the browser speaks.
    cell(row, new Date(entry.changed * 1000).toLocaleString("sv-SE"));
  }
  const going = entries.filter((entry) => entry.state === "going on").length;
  const count = entries.length === 1 ? "1 result" : `${entries.length} results`;
  state.textContent = going ? `${count}, ${going} going on` : count;
}

const events = new EventSource("events");
events.addEventListener("message", (event) => show(JSON.parse(event.data)));
events.addEventListener("error", () => { state.textContent = "The server has ended, or cannot be reached."; });

// A press on the head of a column sorts the table by it; the numbers are in data-sort.
function startTables(root = document) {
  for (const table of root.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const button = make("button", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.addEventListener("click", () => sortBy(table, heads, column));
    });
  }
}

function sortBy(table, heads, column) {
  const rising = heads[column].getAttribute("aria-sort") !== "ascending";
  for (const head of heads) head.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", rising ? "ascending" : "descending");
  const key = (row) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => (rising ? 1 : -1) * compare(key(a), key(b)));
  table.tBodies[0].append(...rows);
}

// On paper nothing can be unfolded.
function startPrinting() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll(".grid details:not([open]), #run-here-tables details:not([open])")];
    for (const each of folded) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of folded) each.open = false; });
}

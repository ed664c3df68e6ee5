// Paths light up while the pointer or the focus is on their name; a press keeps them lit.
function startPaths(root = document) {
  for (const list of root.querySelectorAll("ul.paths")) {
    for (const chip of list.querySelectorAll(".chip")) {
      const route = document.getElementById(`${list.dataset.exhibit}-path-${chip.dataset.path}`);
      chip.setAttribute("role", "button");
      chip.setAttribute("aria-pressed", "false");
      const lit = (on) => route.classList.toggle("on", on || chip.getAttribute("aria-pressed") === "true");
      chip.addEventListener("mouseenter", () => lit(true));
      chip.addEventListener("mouseleave", () => lit(false));
      chip.addEventListener("focus", () => lit(true));
      chip.addEventListener("blur", () => lit(false));
      const press = (event) => {
        event.preventDefault();
        chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
        lit(false);
      };
      chip.addEventListener("click", press);
      chip.addEventListener("keydown", (event) => { if (event.key === " ") press(event); });
    }
  }
}

// The page: figures from its #figures element, buttons that hide lines everywhere, texts to copy, print.

document.documentElement.classList.add("scripted");
const figures = JSON.parse(document.getElementById("figures").textContent);
// Small multiples draw the lines of another figure.
const whole = (figure) => (figure.of ? { ...figures.find(({ id }) => id === figure.of), ...figure } : figure);
const charts = figures.map((figure) => new Chart(document.getElementById(figure.id), whole(figure)));

for (const toggle of document.querySelectorAll("[data-toggle]")) {
  toggle.addEventListener("click", () => {
    const shown = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(shown));
    for (const chart of charts) {
      if (shown) chart.hidden.delete(toggle.dataset.toggle);
      else chart.hidden.add(toggle.dataset.toggle);
      chart.draw();
    }
  });
}

for (const button of document.querySelectorAll("[data-copy]")) {
  const words = button.textContent;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = words), 1500);
  });
}

const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const chart = charts.find((candidate) => candidate.holder === target);
    if (!chart.printing && Math.round(target.clientWidth) !== chart.width) chart.draw();
  }
});
charts.forEach((chart) => observer.observe(chart.holder));

const printing = (on) => () => charts.forEach((chart) => {
  chart.printing = on;
  chart.clear();
  chart.draw();
});
addEventListener("beforeprint", printing(true));
addEventListener("afterprint", printing(false));

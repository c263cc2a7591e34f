// Draws the charts of a page: what a canvas has in data-chart, by Chart.js.
"use strict";
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  const scales = (told) => {
    if (told.kind === "steps") {
      const x = { type: "linear", display: false, min: told.x[0], max: told.x.at(-1) };
      return { x, y: { display: false, beginAtZero: true, grace: "8%" } };
    }
    const ticks = { color: colour("quiet"), precision: 0, maxTicksLimit: 4 };
    return {
      x: { grid: { display: false }, ticks: { color: colour("quiet"), maxRotation: 0 } },
      y: { beginAtZero: true, grid: { color: colour("line") }, ticks },
    };
  };

  const series = (told) => {
    if (told.kind === "bars") {
      return { data: told.y, backgroundColor: colour("available"), minBarLength: 2, maxBarThickness: 72 };
    }
    return {
      data: told.y.map((y, place) => ({ x: told.x[place], y })),
      borderColor: colour("available"),
      backgroundColor: colour("available"),
      borderWidth: 2,
      pointRadius: 3,
      clip: 6,
      stepped: "before", // a value holds until the next one
    };
  };

  const draw = (canvas) => {
    const told = JSON.parse(canvas.dataset.chart);
    const label = (item) => told.told[item.dataIndex];
    Chart.getChart(canvas)?.destroy();
    new Chart(canvas, {
      type: told.kind === "bars" ? "bar" : "line",
      data: { labels: told.x, datasets: [series(told)] },
      options: {
        animation: false,
        maintainAspectRatio: false,
        layout: { padding: told.kind === "steps" ? 6 : 0 },
        interaction: { mode: "nearest", axis: "x", intersect: false },
        plugins: {
          legend: { display: false },
          tooltip: { displayColors: false, callbacks: { title: () => "", label } },
        },
        scales: scales(told),
      },
    });
  };

  const drawAll = (part) => part.querySelectorAll("canvas[data-chart]").forEach(draw);

  document.addEventListener("htmx:load", (event) => drawAll(event.detail.elt));
  document.addEventListener("htmx:beforeCleanupElement", (event) => {
    if (event.detail.elt instanceof HTMLCanvasElement) Chart.getChart(event.detail.elt)?.destroy();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(document));
})();

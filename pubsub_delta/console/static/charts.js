// Draws the charts of a page: what a canvas has in data-chart, by Chart.js.
"use strict";
(() => {
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const two = (number) => String(number).padStart(2, "0");

  const timeOf = (long) => (value) => {
    const time = new Date(value);
    const day = `${two(time.getUTCMonth() + 1)}-${two(time.getUTCDate())}`;
    const clock = `${two(time.getUTCHours())}:${two(time.getUTCMinutes())}`;
    if (long > 2 * 86_400_000) return day;
    if (long > 86_400_000) return `${day} ${clock}`;
    return long < 900_000 ? `${clock}:${two(time.getUTCSeconds())}` : clock;
  };

  const written = (unit) => (value) => {
    if (unit !== "seconds") return Intl.NumberFormat("en", { notation: "compact" }).format(value);
    for (const [size, name] of [[86_400, "d"], [3_600, "h"], [60, "min"]]) {
      if (value >= size) return `${+(value / size).toPrecision(2)} ${name}`;
    }
    return `${+value.toPrecision(2)} s`;
  };

  const scales = (chart) => {
    const ticks = { color: color("quiet"), maxTicksLimit: 4, callback: written(chart.unit) };
    const y = { beginAtZero: true, grid: { color: color("line") }, ticks: chart.unit ? ticks : { ...ticks, precision: 0 } };
    if (chart.kind === "steps") {
      const long = chart.x.at(-1) - chart.x[0];
      const times = { color: color("quiet"), maxRotation: 0, maxTicksLimit: 4, callback: timeOf(long) };
      return { x: { type: "linear", grid: { display: false }, min: chart.x[0], max: chart.x.at(-1), ticks: times }, y };
    }
    return { x: { grid: { display: false }, ticks: { color: color("quiet"), maxRotation: 0 } }, y };
  };

  const series = (chart) => {
    if (chart.kind === "bars") {
      return { data: chart.y, backgroundColor: color("available"), minBarLength: 2, maxBarThickness: 72 };
    }
    return {
      data: chart.y.map((y, place) => ({ x: chart.x[place], y })),
      borderColor: color("available"),
      backgroundColor: color("available"),
      borderWidth: 2,
      pointRadius: 0,
      pointHitRadius: 8,
      clip: 6,
      stepped: "before", // a value holds until the next one
    };
  };

  const draw = (canvas) => {
    const chart = JSON.parse(canvas.dataset.chart);
    const label = (item) => chart.tooltips[item.dataIndex];
    Chart.getChart(canvas)?.destroy();
    new Chart(canvas, {
      type: chart.kind === "bars" ? "bar" : "line",
      data: { labels: chart.x, datasets: [series(chart)] },
      options: {
        animation: false,
        maintainAspectRatio: false,
        interaction: { mode: "nearest", axis: "x", intersect: false },
        plugins: {
          legend: { display: false },
          tooltip: { displayColors: false, callbacks: { title: () => "", label } },
        },
        scales: scales(chart),
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

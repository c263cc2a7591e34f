// The chart of an ack state: a drag over its lanes zooms in, a click chooses a time to replay.
"use strict";
(() => {
  const LEAST = 6; // pixels: what is less is a click

  const place = (lanes, event) => {
    const track = lanes.querySelector(".lane .track").getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - track.left) / track.width));
    return { part, x: track.left + part * track.width };
  };

  const prepare = (area) => {
    const lanes = area.querySelector(".lanes");
    if (!lanes?.dataset.start) return;
    area.parentElement.querySelector(".by-pointer")?.removeAttribute("hidden");
    const [start, end] = [Number(lanes.dataset.start), Number(lanes.dataset.end)];
    const at = (part) => Math.round(start + part * (end - start));
    const mark = document.createElement("div");
    mark.className = "brush";
    let from = null;

    lanes.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch") return;
      from = place(lanes, event);
      mark.dataset.busy = "yes";
      area.append(mark);
      lanes.setPointerCapture(event.pointerId);
    });
    lanes.addEventListener("pointermove", (event) => {
      if (!from) return;
      const to = place(lanes, event);
      const left = area.getBoundingClientRect().left;
      mark.style.left = `${Math.min(from.x, to.x) - left}px`;
      mark.style.width = `${Math.abs(to.x - from.x)}px`;
    });
    lanes.addEventListener("pointercancel", () => { from = null; mark.remove(); });
    lanes.addEventListener("pointerup", (event) => {
      if (!from) return;
      const [first, last] = [from, place(lanes, event)].sort((a, b) => a.part - b.part);
      from = null;
      mark.remove();
      if (last.x - first.x >= LEAST) {
        const asked = `${area.dataset.chartUrl}?by=${area.dataset.by}&start=${at(first.part)}&end=${Math.max(at(last.part), at(first.part) + 1)}`;
        htmx.ajax("GET", asked, { target: "#ack-state-chart", swap: "outerHTML" });
      } else if (area.dataset.by === "time") {
        location.assign(`${area.dataset.replay}?at=${at(first.part)}`);
      }
    });
  };

  document.addEventListener("htmx:load", (event) => event.detail.elt.querySelectorAll?.(".charted").forEach(prepare));
})();

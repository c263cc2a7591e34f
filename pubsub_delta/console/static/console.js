// What a page does besides showing: it refreshes itself, says when the console does not answer,
// shows local times, copies, counts leases down, and asks for keys and values in rows.
"use strict";
(() => {
  const PERIOD = 10_000;
  const RETRY = 3_000;
  const all = (part, what) => [...(part.matches?.(what) ? [part] : []), ...part.querySelectorAll(what)];

  // -- The console does not answer ---------------------------------------------------------------
  const failed = new Map(); // what is to be asked again, by the element that asked
  let waiting = 0;
  const banner = () => document.getElementById("unreachable");
  const say = (text) => {
    const told = banner();
    told.firstElementChild.textContent = text;
    told.hidden = false;
    if (!waiting) waiting = setInterval(tryAgain, RETRY);
  };
  const isAlive = async () => {
    try {
      return (await fetch("/alive", { cache: "no-store", redirect: "manual", headers: { "HX-Request": "true" } })).status;
    } catch {
      return 0;
    }
  };
  const tryAgain = async () => {
    const status = await isAlive();
    if (status !== 204) return;
    clearInterval(waiting);
    waiting = 0;
    banner().hidden = true;
    for (const [element, config] of [...failed]) {
      failed.delete(element);
      if (element.isConnected) htmx.ajax(config.verb, config.path, { source: element, target: config.target });
    }
  };
  const remember = (event) => {
    const { elt, requestConfig, target } = event.detail;
    if (elt && requestConfig?.verb === "get") failed.set(elt, { verb: "get", path: requestConfig.path, target });
    say("The console does not answer. What stands here may be old; it is asked again every few seconds.");
  };
  for (const name of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(name, remember);
  document.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status >= 500) remember(event);
  });

  // A form is sent once it is known that somebody takes it: what was typed is not lost.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const isAsked = form.method === "post" && !form.getAttribute("action")?.startsWith("/sign-");
    if (!isAsked || form.hasAttribute("hx-post")) return;
    if (form.dataset.sure) { // a second click sends it no second time
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
      return;
    }
    event.preventDefault();
    if (form.dataset.asking) return;
    form.dataset.asking = "yes";
    const { submitter } = event;
    const status = await isAlive();
    delete form.dataset.asking;
    if (status === 0) return say("The console does not answer. Nothing was sent, and what you typed stays here.");
    if (status === 401) return say("You are signed out. Sign in in another tab, then send this form again: what you typed stays here.");
    form.dataset.sure = "yes";
    form.requestSubmit(submitter);
  });
  window.addEventListener("pageshow", () => document.querySelectorAll("form").forEach((form) => { delete form.dataset.sure; delete form.dataset.sent; }));

  // -- Live ---------------------------------------------------------------------------------------
  const isLive = () => localStorage.getItem("live") !== "off";
  const shown = new Map(); // what a part showed last, by its id
  const refresh = () => {
    if (!isLive() || document.hidden || waiting) return;
    document.querySelectorAll("[data-live]").forEach((part) => {
      if (!part.querySelector("[data-busy]")) htmx.trigger(part, "refresh");
    });
  };
  const kept = { open: [], checked: [] };
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    if (!target?.id) return;
    if (target.hasAttribute("data-live") && shown.get(target.id) === xhr.responseText) event.detail.shouldSwap = false;
    shown.set(target.id, xhr.responseText);
    kept.open = all(target, "details[open][id]").map((each) => each.id);
    kept.checked = all(target, "input[type=checkbox]:checked").map((each) => [each.name, each.value]);
  });
  // A message that was committed while its list was made is not put above the list again.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    event.detail.fragment.querySelectorAll("details[id]").forEach((each) => {
      if (document.getElementById(each.id)) each.closest("li")?.remove();
    });
  });
  document.addEventListener("htmx:load", (event) => {
    const part = event.detail.elt;
    kept.open.forEach((id) => part.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", ""));
    for (const [name, value] of kept.checked) {
      all(part, "input[type=checkbox]").forEach((box) => { if (box.name === name && box.value === value) box.checked = true; });
    }
    prepare(part);
  });
  const showLive = (button) => {
    button.setAttribute("aria-pressed", String(isLive()));
    button.textContent = isLive() ? "● Live" : "○ Not live";
    button.title = isLive() ? "Figures are refreshed every 10 seconds" : "Figures stay as they are";
  };

  // -- Parts of pages -------------------------------------------------------------------------------
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const local = (date) => date.toLocaleString([], { dateStyle: "short", timeStyle: "medium" });
  const addLocal = (time) => {
    const date = new Date(time.dateTime);
    if (time.dataset.local || isNaN(date) || !date.getTimezoneOffset()) return;
    time.dataset.local = "yes";
    time.title = `${local(date)}, ${zone}`;
    const beside = document.createElement("span");
    beside.className = "local";
    beside.textContent = ` ${local(date)} here`;
    time.after(beside);
  };
  const addLocalOfFields = (fieldset) => {
    const [day, clock] = fieldset.querySelectorAll("input[type=date], input[type=time]");
    const told = document.createElement("p");
    told.className = "help";
    fieldset.querySelector(".row")?.after(told);
    const tell = () => {
      const date = new Date(`${day.value}T${clock.value}Z`);
      told.textContent = isNaN(date) || !date.getTimezoneOffset() ? "" : `${local(date)} in ${zone}`;
    };
    fieldset.addEventListener("input", tell);
    tell();
  };
  const copying = (button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const found = document.querySelector(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(found.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(found); // where a page may not write to the clipboard
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2_000);
    });
  };
  const countDown = (told) => {
    const end = performance.now() + 1_000 * Number(told.dataset.seconds);
    const tick = () => {
      const left = Math.max(0, Math.ceil((end - performance.now()) / 1_000));
      told.textContent = left ? `${left} s are left` : "The lease is over. What was not acknowledged is delivered again.";
      told.classList.toggle("bad", left < 10);
      if (!left || !told.isConnected) clearInterval(timer);
    };
    const timer = setInterval(tick, 500);
    tick();
  };
  const choosing = (button) => {
    button.hidden = false;
    button.addEventListener("click", () => {
      const boxes = [...document.getElementById(button.dataset.choose).querySelectorAll("input[type=checkbox]")];
      const on = boxes.some((box) => !box.checked);
      boxes.forEach((box) => { box.checked = on; });
      button.textContent = on ? "Choose none" : "Choose all";
    });
  };
  // Lines of key=value as rows of two fields. The lines are what is sent.
  const pairing = (area) => {
    const rows = document.createElement("div");
    const label = area.labels[0]?.textContent ?? area.name;
    rows.className = "pairs";
    const write = () => {
      const lines = [...rows.children].map((row) => [...row.querySelectorAll("input")].map((field) => field.value));
      area.value = lines.filter(([key, value]) => key || value).map(([key, value]) => `${key}=${value}`).join("\n");
    };
    const add = (key = "", value = "", focus = false) => {
      const row = document.createElement("div");
      const fields = [["key", key], ["value", value]].map(([name, text]) => {
        const field = document.createElement("input");
        field.value = text;
        field.placeholder = name;
        field.autocomplete = "off";
        field.spellcheck = false;
        field.setAttribute("aria-label", `${label}: ${name} ${rows.children.length + 1}`);
        if (name === "key") { // a line ends its key at the first =, and drops blanks around it
          field.pattern = "\\s*[^=\\s]([^=]*[^=\\s])?\\s*";
          field.title = "A key without =";
          field.addEventListener("invalid", () => field.closest("details")?.setAttribute("open", ""));
        }
        return field;
      });
      const remove = document.createElement("button");
      remove.type = "button";
      remove.className = "plain";
      remove.textContent = "Remove";
      remove.setAttribute("aria-label", `Remove ${label} ${rows.children.length + 1}`);
      remove.addEventListener("click", () => { row.remove(); write(); more.focus(); });
      row.append(...fields, remove);
      rows.append(row);
      if (focus) fields[0].focus();
    };
    const more = document.createElement("button");
    more.type = "button";
    more.className = "plain";
    more.textContent = `Add ${label.toLowerCase().replace(/s$/, "")}`;
    more.addEventListener("click", () => add("", "", true));
    for (const line of area.value.split("\n").filter((each) => each.trim())) {
      const at = line.indexOf("=");
      if (at < 0) return; // not a pair: it is shown as it was typed
      add(line.slice(0, at), line.slice(at + 1));
    }
    rows.addEventListener("input", write);
    area.before(rows, more);
    document.getElementById(`${area.name}-help`)?.classList.add("hidden"); // it is about lines
    area.classList.add("hidden");
    area.tabIndex = -1;
    area.addEventListener("focus", () => (rows.querySelector("input") ?? more).focus());
  };

  const prepare = (part) => {
    all(part, "time").forEach(addLocal);
    all(part, "[data-copy]").forEach(copying);
    all(part, "[data-seconds]").forEach(countDown);
    all(part, "[data-choose]").forEach(choosing);
    all(part, "textarea[data-pairs]").forEach((area) => { if (!area.classList.contains("hidden")) pairing(area); });
    all(part, "fieldset:has(input[type=time])").forEach((each) => { if (!each.dataset.told) { each.dataset.told = "yes"; addLocalOfFields(each); } });
  };

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("live");
    if (button) {
      button.hidden = !document.querySelector("[data-live], .later");
      showLive(button);
      button.addEventListener("click", () => {
        localStorage.setItem("live", isLive() ? "off" : "on");
        showLive(button);
        refresh();
      });
    }
    banner().querySelector("button").addEventListener("click", tryAgain);
    const here = new URL(location);
    if (here.searchParams.has("done")) { // what was done is said once
      here.searchParams.delete("done");
      history.replaceState(null, "", here);
    }
    setInterval(refresh, PERIOD);
    if (!globalThis.htmx) prepare(document.body);
  });
})();

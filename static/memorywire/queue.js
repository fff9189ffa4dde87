// The queue: which row is open, the panels under a proposal, deciding by key.
import { keysMayAct } from "./app.js";
import { hold, isOffline, refresh, release } from "./live.js";

// After a proposal came in, keys rest: a second press must not decide what nobody has read.
const REST_MS = 350;
const DIGIT = /^[1-9]$/;
let restUntil = 0;
let undecided = true;
let stayInList = false;

const find = (selector, within = document) => within.querySelector(selector);
const proposal = () => document.getElementById("proposal");
const rows = () => [...document.querySelectorAll(".row")];
const panels = () => [...proposal().querySelectorAll(".panel")];

const markCurrent = () => {
  const id = proposal().dataset.review;
  const listed = rows();
  for (const row of listed) {
    if (row.dataset.review === id) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  const at = listed.findIndex((row) => row.dataset.review === id);
  if (find("#steps")) {
    find("#steps").hidden = !listed.length;
    find("#place").textContent = at < 0 ? "" : `${at + 1} of ${listed.length}`;
  }
  const shapes = find("[data-diff-shapes]");
  if (shapes) shapes.hidden = false;
  return listed[at];
};

const step = (by) => {
  const listed = rows();
  const at = listed.findIndex((row) => row.getAttribute("aria-current") === "true");
  const next = at < 0 ? listed[0] : listed[at + by];
  if (!next) return;
  // Whoever walks through the list stays in it; everyone else is taken to the proposal.
  stayInList = document.activeElement.closest?.(".row") !== null;
  if (stayInList) next.focus();
  next.click();
};

// A disabled field is not sent: what is approved is the agent's text unless the field is open.
const setEditing = (on) => {
  for (const field of document.querySelectorAll("[data-edit]")) {
    field.hidden = !on;
    find("textarea", field).disabled = !on;
  }
};

const closePanels = () => {
  const open = panels().find((panel) => !panel.hidden);
  for (const panel of panels()) panel.hidden = true;
  setEditing(false);
  if (open) find(`[aria-controls="${open.id}"]`)?.focus();
};

const openPanel = (name) => {
  const panel = document.getElementById(`${name}-panel`);
  if (!panel) return;
  const wasOpen = !panel.hidden;
  closePanels();
  if (wasOpen) return;
  panel.hidden = false;
  (find(".picks .btn", panel) ?? find("input:not([type=hidden])", panel)).focus();
  panel.scrollIntoView({ block: "nearest" });
};

const otherDiff = () => proposal().querySelector('[data-diff][aria-pressed="false"]')?.click();

const acts = {
  next: () => step(1),
  previous: () => step(-1),
  cancel: closePanels,
  diff: otherDiff,
  reject: () => openPanel("reject"),
  edit: () => {
    const form = find("[data-edit]")?.closest("form");
    if (!form) return;
    closePanels();
    form.hidden = false;
    setEditing(true);
    const field = find("textarea", form);
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  },
  approve: () => {
    if (find("#approve-panel")) openPanel("approve");
    else find('.bar button[form="approve-form"]')?.click();
  },
};
// These change nothing, so they need no rest.
const LOOKS = new Set(["next", "previous", "diff"]);
const keys = { j: "next", k: "previous", a: "approve", e: "edit", r: "reject", d: "diff" };

const showDiff = (button) => {
  const frame = button.closest(".frame");
  for (const other of frame.querySelectorAll("[data-diff]")) {
    other.setAttribute("aria-pressed", String(other === button));
  }
  for (const view of frame.querySelectorAll("[data-shape]")) {
    view.hidden = view.dataset.shape !== button.dataset.diff;
  }
};

document.addEventListener("click", (event) => {
  const act = event.target.closest("[data-act]");
  // The approve button of the plain form submits by itself.
  if (act && act.type !== "submit") {
    event.preventDefault();
    acts[act.dataset.act]();
  }
  const shape = event.target.closest("[data-diff]");
  if (shape) showDiff(shape);
  if (event.target.closest("[data-dismiss]")) find("#toast").replaceChildren();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !find("dialog[open]")) return closePanels();
  if (!keysMayAct(event)) return undefined;
  const panel = find("#reject-panel");
  if (panel && !panel.hidden && DIGIT.test(event.key)) {
    return find(`[data-digit="${event.key}"]`, panel)?.click();
  }
  const name = keys[event.key];
  if (!name) return undefined;
  event.preventDefault();
  if (LOOKS.has(name) || (performance.now() >= restUntil && undecided)) acts[name]();
  return undefined;
});

// htmx asks here before every request: decisions are off while nobody would hear them.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.requestConfig.verb !== "post") return;
  if (isOffline()) { event.preventDefault(); return; }
  undecided = false;
  hold();
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.requestConfig.verb !== "post") return;
  undecided = true;
  release();
});
document.addEventListener("submit", (event) => {
  if (isOffline()) event.preventDefault();
}, true);

// A refusal carries the proposal as it is now, and says so by naming its place.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Retarget")) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

const say = (text) => {
  const note = Object.assign(document.createElement("p"), { textContent: text });
  const box = Object.assign(document.createElement("div"), { className: "toast" });
  box.append(note);
  find("#toast").replaceChildren(box);
};
document.addEventListener("htmx:responseError", (event) => {
  say(`The server answered ${event.detail.xhr.status}. Load the page again to see what holds.`);
});
document.addEventListener("htmx:sendError", () => {
  say("The server cannot be reached. What became of it shows once it is back.");
  refresh();
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target.id !== "proposal") return;
  restUntil = performance.now() + REST_MS;
  const dismiss = find("[data-dismiss]");
  if (dismiss) dismiss.hidden = false;
  document.body.dataset.view = "proposal";
  const row = markCurrent();
  row?.scrollIntoView({ block: "nearest" });
  if (!stayInList) find("#proposal-title")?.focus({ preventScroll: true });
  scrollTo({ top: 0 });  // narrow screens scroll the page itself
  stayInList = false;
});

document.addEventListener("queue:listed", markCurrent);
markCurrent();

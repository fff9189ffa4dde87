// Keeps the list true: a socket says that something changed, a question every few seconds covers
// whatever it missed. Only rows that changed are exchanged, so focus, scroll and drafts stay.
import { clock, tell } from "./times.js";

const POLL_MS = 5_000;
const RECONNECT_MAX_MS = 15_000;

const { changes, socket: socketPath, login } = document.body.dataset;
const list = () => document.getElementById("queue-list");
const openReview = () => document.getElementById("proposal").dataset.review ?? "";
let lastHeard = Date.now();
let offline = false;
let held = false;
let asking = false;
let askAgain = false;
let retry = 0;

export const isOffline = () => offline;

// A row as the server sent it: times not yet put in the reader's zone, none marked as open.
const asServed = (row) => {
  const copy = row.cloneNode(true);
  for (const time of copy.querySelectorAll("time")) {
    time.textContent = "";
    time.removeAttribute("title");
  }
  copy.querySelector(".row").removeAttribute("aria-current");
  return copy.innerHTML;
};

const update = (old, fresh) => {
  const rows = old.querySelector(":scope > ol");
  if (rows) {
    old.querySelector("h2").replaceChildren(...fresh.querySelector("h2").childNodes);
    exchange(rows, fresh.querySelector(":scope > ol"));
  } else if (asServed(old) !== asServed(fresh)) {
    old.replaceWith(fresh);
  }
};

// Makes one parent's children those of another. What is there in both, by id, is not touched:
// it keeps focus, and a click that has begun on it.
const exchange = (parent, fresh) => {
  const kept = new Set([...fresh.children].map((child) => child.id).filter(Boolean));
  for (const child of [...parent.children]) if (!kept.has(child.id)) child.remove();
  let at = parent.firstElementChild;
  for (const child of [...fresh.children]) {
    const old = child.id && [...parent.children].find((other) => other.id === child.id);
    if (!old) parent.insertBefore(child, at);
    else if (old === at) at = at.nextElementSibling;
    else parent.insertBefore(old, at);
    if (old) update(old, child);
  }
};

// A row that went away while it had the focus hands it to the one in its place.
const keepingFocus = (change) => {
  const focused = document.activeElement?.closest("#queue-list .row");
  const at = [...document.querySelectorAll(".row")].indexOf(focused);
  change();
  if (!focused || focused.isConnected && document.activeElement === focused) return;
  const rows = [...document.querySelectorAll(".row")];
  const same = rows.find((row) => row.dataset.review === focused.dataset.review);
  (same ?? rows[Math.min(at, rows.length - 1)])?.focus({ preventScroll: true });
};

const showList = (fresh) => {
  keepingFocus(() => exchange(list(), fresh));
  Object.assign(list().dataset, fresh.dataset);
  window.htmx.process(list());
  tell(list());
  const waiting = list().dataset.waitingNow;
  for (const count of document.querySelectorAll("[data-waiting]")) count.textContent = waiting;
  document.title = `${waiting} waiting · Queue · memorywire`;
  document.dispatchEvent(new CustomEvent("queue:listed"));
};

// The open proposal was decided elsewhere: say by whom, and take away what can no longer be done.
const showClosed = (state) => {
  const proposal = document.getElementById("proposal");
  const place = document.getElementById("open-state");
  if (!state || !place || place.childElementCount) return;
  place.replaceChildren(...state.childNodes);
  tell(place);
  keepDraft(proposal, place);
  for (const part of proposal.querySelectorAll(".bar, .panel, .effect, #approve-form")) part.remove();
};

// What was typed into a form that goes away stays on the page, to be read and copied.
const keepDraft = (proposal, place) => {
  const typed = [...proposal.querySelectorAll("[name=content], .panel [name=reason]")]
    .filter((field) => field.value.trim() && (field.value !== field.defaultValue || "typed" in field.dataset));
  if (!typed.length) return;
  const hadFocus = typed.includes(document.activeElement);
  place.after(document.getElementById("kept-form").content.cloneNode(true));
  const kept = document.getElementById("kept");
  kept.value = typed.map((field) => field.value).join("\n\n");
  if (hadFocus) kept.focus();
};

// An empty queue that is no longer empty opens its first proposal.
const openFirst = () => {
  if (openReview()) return;
  const first = document.querySelector(".row");
  if (!first || document.body.dataset.view === "list" && innerWidth < 1024) return;
  window.htmx.ajax("GET", first.href, { target: "#proposal", swap: "outerHTML" });
};

const show = (html, open) => {
  const page = new DOMParser().parseFromString(html, "text/html");
  showList(document.adoptNode(page.getElementById("queue-list")));
  // Another proposal may have been opened since the question was asked.
  if (openReview() === open) showClosed(page.getElementById("open-state"));
  openFirst();
};

const tellConnection = (isOff) => {
  offline = isOff;
  document.getElementById("live").hidden = isOff;
  document.getElementById("offline").hidden = !isOff;
  document.getElementById("offline-note").hidden = !isOff;
  for (const since of document.querySelectorAll("[data-since]")) since.textContent = clock(lastHeard);
  for (const button of document.querySelectorAll(".bar .btn, .panel .btn")) {
    if (isOff) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
};

const ask = async () => {
  const open = openReview();
  const query = new URLSearchParams({ cursor: list().dataset.cursor, open });
  const response = await fetch(`${changes}?${query}`, {
    headers: { "X-Requested-With": "XMLHttpRequest" }, signal: AbortSignal.timeout(POLL_MS),
  });
  if (response.status === 401) {
    location.assign(`${login}?${new URLSearchParams({ next: location.pathname })}`);
    return;
  }
  if (!response.ok) throw new Error(`The server answered ${response.status}`);
  lastHeard = Date.now();
  const news = response.status === 200 ? await response.text() : "";
  if (held) askAgain = true;
  else if (news) show(news, open);
};

// One question at a time; whatever is announced meanwhile is asked about right after.
export const refresh = async () => {
  if (asking || held) { askAgain = true; return; }
  asking = true;
  try {
    await ask();
    if (offline) listenAtOnce();
    if (offline || document.getElementById("live").hidden) tellConnection(false);
  } catch {
    tellConnection(true);
  } finally {
    asking = false;
  }
  if (askAgain && !held) { askAgain = false; refresh(); }
};

// While a decision is on its way its own answer comes first: news of it would take its form away.
export const hold = () => { held = true; };
export const release = () => { held = false; refresh(); };

const listen = (failures = 0) => {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(`${scheme}//${location.host}${socketPath}`);
  let opened = false;
  retry = 0;
  socket.addEventListener("open", () => { opened = true; refresh(); });
  socket.addEventListener("message", (event) => {
    const { cursor } = JSON.parse(event.data);
    if (cursor > Number(list().dataset.cursor)) refresh();
  });
  socket.addEventListener("close", () => {
    const wait = Math.min(500 * 2 ** failures, RECONNECT_MAX_MS) * (0.75 + Math.random() / 2);
    refresh();
    retry = setTimeout(() => listen(opened ? 1 : failures + 1), wait);
  });
};

// The server was heard from again: no need to wait out the pause between attempts.
const listenAtOnce = () => {
  if (!retry) return;
  clearTimeout(retry);
  listen();
};

listen();
setInterval(() => { if (!document.hidden) refresh(); }, POLL_MS);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
document.addEventListener("htmx:afterSwap", () => { if (offline) tellConnection(true); });

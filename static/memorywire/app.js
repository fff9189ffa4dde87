// What every page has: theme, menus, the list of keys, rows that open, times.
import * as preferences from "./preferences.js";
import "./times.js";

const root = document.documentElement;

for (const radio of document.querySelectorAll('input[name="theme"]')) {
  radio.checked = radio.value === (root.dataset.theme ?? "system");
  radio.addEventListener("change", () => {
    preferences.write("theme", radio.value);
    if (radio.value === "system") delete root.dataset.theme;
    else root.dataset.theme = radio.value;
  });
}

const keysChoice = document.querySelector("[data-keys-choice]");
if (keysChoice) {
  keysChoice.checked = preferences.read("keys") !== "off";
  keysChoice.addEventListener("change", () => {
    preferences.write("keys", keysChoice.checked ? "on" : "off");
  });
}

const closeMenus = (except) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (menu !== except) menu.open = false;
  }
};

const help = document.getElementById("keys");
const showHelp = () => {
  closeMenus();
  if (help && !help.open) help.showModal();
};

// Audit rows open in place; without this script the link leads to the row's own page.
const toggleRow = (toggle) => {
  const open = toggle.getAttribute("aria-expanded") === "true";
  toggle.setAttribute("aria-expanded", String(!open));
  document.getElementById(toggle.getAttribute("aria-controls")).hidden = open;
  toggle.closest("tr").classList.toggle("log__row--open", !open);
};

document.addEventListener("click", (event) => {
  closeMenus(event.target.closest("details.menu"));
  if (event.target.closest("[data-help]")) showHelp();
  const toggle = event.target.closest(".log__toggle");
  if (toggle && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    toggleRow(toggle);
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  }
  if (event.key === "?" && keysMayAct(event)) showHelp();
});

// Single keys never act in a field, under a dialog, with a modifier, or when switched off.
export const keysMayAct = (event) =>
  preferences.read("keys") !== "off"
  && !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat && !event.isComposing
  && !help?.open
  && !event.target.closest?.("input:not([type=radio]), textarea, select, [contenteditable], dialog");

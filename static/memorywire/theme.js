// Runs before the first paint, so that a chosen theme does not flash the other one.
(() => {
  "use strict";
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch { /* storage may be switched off: the system's theme it is */ }
})();

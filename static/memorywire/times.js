// Points in time in the reader's own zone and language; ages keep up by themselves.
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const minuteFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const exactFormat = new Intl.DateTimeFormat(undefined, {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit",
  fractionalSecondDigits: 3, hour12: false,
});
const clockFormat = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

const age = (milliseconds) => {
  if (milliseconds < MINUTE) return "< 1 min";
  if (milliseconds < HOUR) return `${Math.floor(milliseconds / MINUTE)} min`;
  if (milliseconds < DAY) {
    const minutes = String(Math.floor((milliseconds % HOUR) / MINUTE)).padStart(2, "0");
    return `${Math.floor(milliseconds / HOUR)} h ${minutes} min`;
  }
  const days = Math.floor(milliseconds / DAY);
  return `${days} day${days === 1 ? "" : "s"}`;
};

const wording = {
  age: (at) => age(Date.now() - at),
  minute: (at) => minuteFormat.format(at),
  exact: (at) => exactFormat.format(at),
};

export const clock = (at) => clockFormat.format(at);

export const tell = (within = document) => {
  for (const time of within.querySelectorAll("time[data-show]")) {
    const at = new Date(time.dateTime);
    const text = wording[time.dataset.show](at);
    if (time.textContent !== text) time.textContent = text;
    time.title = at.toISOString();
  }
};

tell();
setInterval(tell, 30_000);
document.addEventListener("htmx:afterSwap", () => tell());

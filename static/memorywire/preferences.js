// Choices kept in this browser. Where storage is switched off they last as long as the page.
const memory = new Map();

export const read = (name) => {
  try { return localStorage.getItem(name); } catch { return memory.get(name) ?? null; }
};

export const write = (name, value) => {
  try { localStorage.setItem(name, value); } catch { memory.set(name, value); }
};

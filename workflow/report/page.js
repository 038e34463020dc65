"use strict";
// Tables are sorted by a click on a head, up, down, then as they were; a search keeps rows and sentences with all its words.

const isGroup = (row) => row.cells.length > 1 && row.cells[0].querySelector("em")
  && [...row.cells].slice(1).every((cell) => cell.textContent.trim() === "");

// "67.4 ± 0.5", "+0.21 [...]" and "−3" sort by their first number, anything else as text; what has none comes last.
function key(cell) {
  const text = cell.textContent.trim().replace(/−/g, "-").replace(/,(?=\d{3})/g, "");
  const number = /^[-+]?\d/.test(text) ? parseFloat(text) : NaN;
  return [number, text];
}

function compare(a, b) {
  const [[x, s], [y, t]] = [a, b];
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return Number.isNaN(x) ? s.localeCompare(t) : x - y;
}

function sortable(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  let group = null;
  for (const row of rows) {
    if (isGroup(row)) { group = row; row.className = "group"; } else row.group = group;
  }
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    if (!button.textContent.trim()) button.setAttribute("aria-label", "name of the row");
    head.append(button);
    button.addEventListener("click", () => {
      const now = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort || "none"];
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      if (now !== "none") head.setAttribute("aria-sort", now);
      const members = rows.filter((row) => row.className !== "group");
      const sign = now === "descending" ? -1 : 1;
      if (now !== "none") members.sort((a, b) => sign * compare(key(a.cells[column]), key(b.cells[column])));
      body.replaceChildren(...(now === "none" ? rows : members));
    });
  });
  const frame = document.createElement("div");
  frame.className = "scroll";
  frame.tabIndex = 0;
  table.replaceWith(frame);
  frame.append(table);
  return rows;
}

for (const article of document.querySelectorAll(".table")) {
  const rows = [...article.querySelectorAll("table")].flatMap(sortable);
  const items = [...article.querySelectorAll("li")];
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = items.length ? "search the claims" : "search rows";
  search.setAttribute("aria-label", search.placeholder);
  const first = article.querySelector(".scroll, h4");
  first.before(search);
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text) => words.every((word) => text.toLowerCase().includes(word));
    const kept = new Set();
    for (const row of rows) {
      if (row.className === "group") continue;
      row.hidden = !has(row.textContent + " " + (row.group ? row.group.textContent : ""));
      if (!row.hidden) kept.add(row.group);
    }
    for (const row of rows) if (row.className === "group") row.hidden = !kept.has(row);
    for (const item of items) item.hidden = !has(item.textContent);
    for (const list of article.querySelectorAll("ul")) {
      list.previousElementSibling.hidden = [...list.children].every((item) => item.hidden);
    }
  });
}

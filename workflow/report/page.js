"use strict";
// The parts of a table become tabs, a click on a head sorts the rows of each group, and one search keeps the rows, figures
// and claims that have all its words.

const isGroup = (row) => row.cells.length > 1 && row.cells[0].querySelector("em")
  && [...row.cells].slice(1).every((cell) => cell.textContent.trim() === "");

function make(name, text, press) {
  const made = document.createElement(name);
  made.append(...text);
  if (press) {
    made.type = "button";
    made.addEventListener("click", press);
  }
  return made;
}

// "67.4 ± 0.5", "+0.21 [...]" and "−3" sort by their first number, anything else as text; what has none comes last.
function key(cell) {
  const text = cell.textContent.trim().replace(/−/g, "-").replace(/,(?=\d{3})/g, "");
  return [/^[-+]?\d/.test(text) ? parseFloat(text) : NaN, text];
}

function compare([x, s], [y, t], sign) {
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  return sign * (Number.isNaN(x) ? s.localeCompare(t) : x - y);
}

// Less is better where the head says so, where what is bold is below the mean, or in a column of costs.
function upwards(table, column) {
  const heads = table.tHead.rows[0].cells;
  const said = heads[0].textContent.match(/(lower|higher) is better/);
  if (column === 0) return true;
  if (said) return said[1] === "lower";
  const cells = [...table.tBodies[0].rows].map((row) => row.cells[column]).filter((cell) => !Number.isNaN(key(cell)[0]));
  const bold = cells.find((cell) => cell.querySelector("strong"));
  if (bold) return key(bold)[0] * cells.length < cells.reduce((sum, cell) => sum + key(cell)[0], 0);
  return /forgetting|underfitted|exemplars|parameters|seconds|peak/.test(heads[column].textContent);
}

function sortable(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const groups = [[]];
  for (const row of rows) {
    if (isGroup(row)) {
      row.className = "group";
      groups.push([]);
    }
    groups.at(-1).push(row);
  }
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const [best, other] = upwards(table, column) ? ["ascending", "descending"] : ["descending", "ascending"];
    const button = make("button", head.childNodes, () => {
      const now = { none: best, [best]: other, [other]: "none" }[head.ariaSort || "none"];
      for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
      if (now !== "none") head.setAttribute("aria-sort", now);
      const sign = now === "descending" ? -1 : 1;
      body.replaceChildren(...now === "none" ? rows : groups.flatMap((group) => [
        ...group.filter((row) => row.className === "group"),
        ...group.filter((row) => row.className !== "group")
          .sort((a, b) => compare(key(a.cells[column]), key(b.cells[column]), sign)),
      ]));
    });
    if (!button.textContent.trim()) button.setAttribute("aria-label", "name of the row");
    head.append(button);
  });
  const frame = make("div", []);
  frame.className = "scroll";
  frame.tabIndex = 0;
  table.replaceWith(frame);
  frame.append(table);
  return { frame, groups, name: table.tHead.rows[0].cells[0].textContent.split(/,| \(/)[0] };
}

function tabbed(tables) {
  const bar = make("div", []);
  bar.className = "tabs";
  const buttons = tables.map(({ name }, i) => make("button", [name], () => choose(i)));
  const choose = (chosen) => tables.forEach(({ frame }, i) => {
    frame.hidden = i !== chosen;
    buttons[i].setAttribute("aria-pressed", i === chosen);
  });
  bar.append(...buttons);
  tables[0].frame.before(bar);
  choose(0);
}

const search = document.querySelector("input[type=search]");
const items = [...document.querySelectorAll(".item, .sentences li")].map((item) => {
  const tables = [...item.querySelectorAll("table")].map(sortable);
  if (tables.length > 1) tabbed(tables);
  const name = tables.length ? `${item.closest("section").id} ${item.querySelector("h4").textContent} ` : "";
  return { item, name, groups: tables.flatMap((table) => table.groups) };
});

function find() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  let found = 0;
  for (const { item, name, groups } of items) {
    let kept = groups.length ? 0 : Number(has(item.textContent));
    for (const group of groups) {
      const title = group.find((row) => row.className === "group");
      const rows = group.filter((row) => row !== title);
      for (const row of rows) row.hidden = !has(name + (title ? title.textContent : "") + row.textContent);
      const left = rows.filter((row) => !row.hidden).length;
      if (title) title.hidden = !left;
      kept += left;
    }
    item.hidden = !kept;
    found += kept;
    for (const details of item.querySelectorAll("details")) details.open = words.length > 0;
  }
  for (const extra of document.querySelectorAll("#findings, .settings")) extra.hidden = words.length > 0;
  for (const list of document.querySelectorAll(".sentences ul")) {
    list.previousElementSibling.hidden = [...list.children].every((item) => item.hidden);
  }
  for (const section of document.querySelectorAll("main section:not(#findings)")) {
    section.hidden = [...section.querySelectorAll(".item, li")].every((item) => item.hidden);
  }
  document.querySelector("output").value = words.length ? `${found} rows, figures and claims` : "";
}

search.addEventListener("input", find);
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll(".item details")) details.open = true;
});

// Elements made of names and texts. Texts become text nodes, so that no name of an interface or run is HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element of HTML. */
export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

/** An element of SVG. */
export const s = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

/** Puts children in place of those that are there. */
export const put = (element, ...children) => {
  element.replaceChildren();
  return fill(element, {}, children);
};

/** A table with a caption; cells are texts or nodes, numbers stand right. */
export function table(caption, heads, rows, more = {}) {
  const cell = (value, place) => {
    const is_number = typeof value === "number" || (value && value.number !== undefined);
    const text = value && value.number !== undefined ? value.text : value;
    return place === 0 && !is_number
      ? h("th", { scope: "row" }, text ?? "")
      : h("td", { class: is_number ? "number" : null }, typeof text === "number" ? String(text) : text ?? "");
  };
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", more,
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, heads.map(head => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map(row => h("tr", {}, row.map(cell))))));
}

/** A number in a table, written as text. */
export const number = (value, text) => ({ number: value, text });

let last = "";
/** Says something to readers of screens. */
export function say(text) {
  if (text === last) return;
  last = text;
  document.getElementById("said").textContent = text;
}

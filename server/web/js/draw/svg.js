/** Makes SVG elements. Texts are text nodes, so nothing in them is ever markup. */

const NAMESPACE = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, children = []) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  for (const child of [children].flat()) element.append(child);
  return element;
}

/**
 * Makes elements and changes them. The only place where text meets the document, and it meets it as text: nothing that
 * came from a server or a person is ever parsed as markup.
 */

/** Make an element: `class` and other attributes, `on...` listeners, then children, nodes or texts. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make an element say `text`; the document is touched only where that is new. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Set, or with null take away, an attribute; the document is touched only where that is new. */
export function set(element, name, value) {
  if (value === null || value === false) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else {
    const text = value === true ? "" : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** Show or hide. */
export function show(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

/** Put these nodes in the place of all that is in `element`, unless they stand there already. */
export function fill(element, nodes) {
  const same =
    element.childNodes.length === nodes.length && nodes.every((node, place) => element.childNodes[place] === node);
  if (!same) element.replaceChildren(...nodes);
}

/** Whether the reader asked for little motion. */
export function isCalm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/**
 * A button that acts once for a click. While it can't act it stays in reach and says why: `aria-disabled`, and the
 * reason for whoever presses it. Held keys and the second click of a double click do nothing, unless it `repeats`.
 */
export function button(label, attributes, act, { repeats = false } = {}) {
  const element = el("button", { type: "button", ...attributes }, label);
  element.addEventListener("keydown", (event) => event.repeat && event.preventDefault());
  element.addEventListener("click", (event) => {
    if (!repeats && event.detail > 1) return;
    act(event);
  });
  return element;
}

/** Call `run` at most once for each picture that the browser draws; hidden pages draw none and are called on showing. */
export function oncePerFrame(run) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      run();
    });
  };
}

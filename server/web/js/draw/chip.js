/** Draws chips as SVG, and stacks of them. The value stands on each, so that no colour has to be known. */

import { svg } from "./svg.js";

/** How many kinds of chips there are drawings for; a tray with more begins again. */
const KINDS = 8;
const EDGES = 6;
export const STACK_CHIPS_MAX = 6;

/**
 * One chip. `place` counts the tray's chips from the smallest, and chooses the drawing.
 */
export function drawChip(place, label) {
  const spots = Array.from({ length: EDGES }, (_, edge) =>
    svg("rect", {
      x: 44.5,
      y: 1.5,
      width: 11,
      height: 14,
      rx: 1.5,
      class: "chip-edge",
      transform: `rotate(${(360 / EDGES) * edge} 50 50)`,
    }),
  );
  const text = svg(
    "text",
    { x: 50, y: 50, class: "chip-text", "text-anchor": "middle", "dominant-baseline": "central" },
    label,
  );
  text.style.setProperty(
    "font-size",
    `${label.length <= 2 ? 31 : label.length === 3 ? 25 : label.length === 4 ? 20 : 16}px`,
  );
  return svg("svg", { viewBox: "0 0 100 100", class: `chip chip-${place % KINDS}`, "aria-hidden": "true" }, [
    svg("circle", { cx: 50, cy: 50, r: 48, class: "chip-body" }),
    ...spots,
    svg("circle", { cx: 50, cy: 50, r: 48, class: "chip-rim" }),
    svg("circle", { cx: 50, cy: 50, r: 32, class: "chip-middle" }),
    text,
  ]);
}

/** The chips that make up an amount, the greatest first, at most so many; what is less than the smallest is left out. */
export function chipsOf(amount, chips, most = STACK_CHIPS_MAX) {
  const found = [];
  let left = amount;
  for (const chip of [...chips].sort((one, other) => other - one)) {
    while (left >= chip && found.length < most) {
      found.push(chip);
      left -= chip;
    }
  }
  return found;
}

/** Draws a card as SVG: index in two corners, pips in their places, pictures as a plain letter over their suit. */

import { svg } from "./svg.js";
import { cardInWords } from "../game/cards.js";

const WIDTH = 100;
const HEIGHT = 140;

/** Each suit in a box of 20 by 20 around the origin. */
const SHAPES = {
  h: "M0 8.6C-3.4 5.6-9 1.6-9-3.2-9-6.4-6.7-8.4-4.3-8.4-2.4-8.4-.8-7.3 0-5.5.8-7.3 2.4-8.4 4.3-8.4 6.7-8.4 9-6.4 9-3.2 9 1.6 3.4 5.6 0 8.6Z",
  d: "M0-9.6C1.7-6 4.4-2.8 7.4 0 4.4 2.8 1.7 6 0 9.6-1.7 6-4.4 2.8-7.4 0-4.4-2.8-1.7-6 0-9.6Z",
  s: "M0-9.2C3 -5.6 9-2.2 9 2.4 9 5.2 7 6.8 4.8 6.8 3.2 6.8 1.9 6 1.1 4.7 1.3 6.7 2 8.2 3.4 9.2H-3.4C-2 8.2-1.3 6.7-1.1 4.7-1.9 6-3.2 6.8-4.8 6.8-7 6.8-9 5.2-9 2.4-9-2.2-3-5.6 0-9.2Z",
  c: "M0-9.2C2.5-9.2 4.5-7.2 4.5-4.7 4.5-3.5 4-2.4 3.3-1.6 6.2-2.4 9.2-.6 9.2 2.5 9.2 5 7.2 6.8 4.9 6.8 3.2 6.8 1.8 5.9 1 4.5 1.2 6.6 2 8.2 3.4 9.2H-3.4C-2 8.2-1.2 6.6-1 4.5-1.8 5.9-3.2 6.8-4.9 6.8-7.2 6.8-9.2 5-9.2 2.5-9.2-.6-6.2-2.4-3.3-1.6-4-2.4-4.5-3.5-4.5-4.7-4.5-7.2-2.5-9.2 0-9.2Z",
};

const LEFT = 36;
const MIDDLE = 50;
const RIGHT = 64;
const BOTH = (y) => [
  [LEFT, y],
  [RIGHT, y],
];
/** Where the pips lie; those below the middle stand on their heads. */
const PIPS = {
  2: [
    [MIDDLE, 30],
    [MIDDLE, 110],
  ],
  3: [
    [MIDDLE, 30],
    [MIDDLE, 70],
    [MIDDLE, 110],
  ],
  4: [...BOTH(30), ...BOTH(110)],
  5: [...BOTH(30), [MIDDLE, 70], ...BOTH(110)],
  6: [...BOTH(30), ...BOTH(70), ...BOTH(110)],
  7: [...BOTH(30), [MIDDLE, 50], ...BOTH(70), ...BOTH(110)],
  8: [...BOTH(30), [MIDDLE, 50], ...BOTH(70), [MIDDLE, 90], ...BOTH(110)],
  9: [...BOTH(30), ...BOTH(56.7), [MIDDLE, 70], ...BOTH(83.3), ...BOTH(110)],
  T: [...BOTH(30), [MIDDLE, 43.3], ...BOTH(56.7), ...BOTH(83.3), [MIDDLE, 96.7], ...BOTH(110)],
};

function suitAt(suit, x, y, scale, isTurned = false) {
  const turn = isTurned ? " rotate(180)" : "";
  return svg("path", { d: SHAPES[suit], transform: `translate(${x} ${y}) scale(${scale})${turn}` });
}

function corner(rank, suit) {
  const text = svg("text", { x: 13, y: 21, "text-anchor": "middle", class: "card-index" }, rank === "T" ? "10" : rank);
  if (rank === "T") text.setAttribute("textLength", "18");
  return svg("g", {}, [text, suitAt(suit, 13, 34, 0.75)]);
}

function middle(rank, suit) {
  if (rank === "A") return [suitAt(suit, MIDDLE, 70, 2.5)];
  if (rank in PIPS) return PIPS[rank].map(([x, y]) => suitAt(suit, x, y, 0.92, y > 70));
  const frame = svg("rect", { x: 26, y: 20, width: 48, height: 100, rx: 5, class: "card-court" });
  const letter = svg("text", { x: MIDDLE, y: 77, "text-anchor": "middle", class: "card-letter" }, rank);
  return [frame, letter, suitAt(suit, 37, 33, 0.8), suitAt(suit, 63, 107, 0.8, true), suitAt(suit, MIDDLE, 97, 1.1)];
}

/** The face of a card. */
export function drawCard(card) {
  const [rank, suit] = card;
  const colour = suit === "h" || suit === "d" ? "red" : "black";
  return svg(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      class: `card-face card-${colour}`,
      role: "img",
      "aria-label": cardInWords(card),
    },
    [
      svg("rect", { x: 0.75, y: 0.75, width: WIDTH - 1.5, height: HEIGHT - 1.5, rx: 7, class: "card-paper" }),
      corner(rank, suit),
      svg("g", { transform: `rotate(180 ${WIDTH / 2} ${HEIGHT / 2})` }, corner(rank, suit)),
      ...middle(rank, suit),
    ],
  );
}

/** The back of a card: a quiet lattice. */
export function drawBack() {
  const lines = [];
  for (let step = -120; step <= 120; step += 10) {
    lines.push(svg("path", { d: `M${step} 0L${step + 140} 140M${step + 100} 0L${step - 40} 140` }));
  }
  const clip = svg("svg", { x: 9, y: 9, width: WIDTH - 18, height: HEIGHT - 18, viewBox: "9 9 82 122" }, [
    svg("g", { class: "card-lattice" }, lines),
  ]);
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "card-back", "aria-hidden": "true" }, [
    svg("rect", { x: 0.75, y: 0.75, width: WIDTH - 1.5, height: HEIGHT - 1.5, rx: 7, class: "card-paper" }),
    svg("rect", { x: 7, y: 7, width: WIDTH - 14, height: HEIGHT - 14, rx: 4, class: "card-back-field" }),
    clip,
    svg("rect", { x: 7, y: 7, width: WIDTH - 14, height: HEIGHT - 14, rx: 4, class: "card-back-edge" }),
  ]);
}

/**
 * Draws roads as SVG, six rows each, the newest column always in sight. Red and blue differ in lightness, and every mark
 * carries a letter or a shape of its own, so that nobody has to tell colours apart.
 */

import { ROWS } from "../game/roads.js";
import { svg } from "./svg.js";

const CELL = 20;
const LETTERS = { player: "P", banker: "B", tie: "T" };

/** Draw a grid of so many columns around the marks, each `{column, row, nodes}`; columns further left stay unseen. */
function sheet(kind, marks, columns, label) {
  const width = marks.reduce((widest, mark) => Math.max(widest, mark.column + 1), 0);
  const newest = marks.at(-1)?.column ?? 0;
  const first = Math.min(Math.max(0, width - columns), newest);
  const lines = [];
  for (let column = 0; column <= columns; column += 1) lines.push(`M${column * CELL} 0V${ROWS * CELL}`);
  for (let row = 0; row <= ROWS; row += 1) lines.push(`M0 ${row * CELL}H${columns * CELL}`);
  const shown = marks.filter((mark) => mark.column >= first && mark.column < first + columns);
  const viewBox = `-0.5 -0.5 ${columns * CELL + 1} ${ROWS * CELL + 1}`;
  return svg("svg", { viewBox, class: `road road-${kind}`, role: "img", "aria-label": label }, [
    svg("path", { d: lines.join(""), class: "road-grid" }),
    ...shown.map((mark) => {
      const transform = `translate(${(mark.column - first) * CELL} ${mark.row * CELL})`;
      return svg("g", { transform, class: mark === marks.at(-1) ? "road-new" : null }, mark.nodes);
    }),
  ]);
}

function letterAt(x, y, text, kind) {
  return svg("text", { x, y, "text-anchor": "middle", "dominant-baseline": "central", class: kind }, text);
}

/** BANKER's pair at the top left, PLAYER's at the bottom right. */
function pairDots({ bankerPair, playerPair }) {
  const dots = [];
  if (bankerPair) dots.push(svg("circle", { cx: 4, cy: 4, r: 3, class: "pair-dot pair-banker" }));
  if (playerPair) dots.push(svg("circle", { cx: 16, cy: 16, r: 3, class: "pair-dot pair-player" }));
  return dots;
}

/** Every round in its order, ties included. */
export function drawBeadPlate(rounds, { columns }) {
  const marks = rounds.map((round, place) => ({
    column: Math.floor(place / ROWS),
    row: place % ROWS,
    nodes: [
      svg("circle", { cx: 10, cy: 10, r: 8.4, class: `bead bead-${round.outcome}` }),
      letterAt(10, 10.4, LETTERS[round.outcome], `bead-letter bead-letter-${round.outcome}`),
      ...pairDots(round),
    ],
  }));
  return sheet("bead", marks, columns, `Bead plate, ${rounds.length} rounds`);
}

/** Decisions as hollow rings, ties as strokes over them, pairs as dots in two corners. */
export function drawBigRoad(cells, { columns, tiesOnly = 0, isSmall = false }) {
  const marks = cells.map((cell) => ({
    column: cell.column,
    row: cell.row,
    nodes: [
      svg("circle", { cx: 10, cy: 10, r: 7.5, class: `ring mark-${cell.side}` }),
      ...(isSmall
        ? smallMarkOf(cell.side)
        : [letterAt(10, 10.4, LETTERS[cell.side], `ring-letter letter-${cell.side}`)]),
      ...tieStroke(cell.ties),
      ...pairDots(cell),
    ],
  }));
  if (tiesOnly > 0 && cells.length === 0) marks.push({ column: 0, row: 0, nodes: tieStroke(tiesOnly) });
  return sheet("big", marks, columns, bigRoadInWords(cells));
}

/** Too small for a letter: PLAYER's rings carry a dot. */
function smallMarkOf(side) {
  return side === "player" ? [svg("circle", { cx: 10, cy: 10, r: 2.2, class: "ring-dot" })] : [];
}

function tieStroke(ties) {
  if (ties === 0) return [];
  const stroke = svg("path", { d: "M3.5 16.5L16.5 3.5", class: "tie-stroke" });
  return ties === 1 ? [stroke] : [stroke, letterAt(15, 15, String(ties), "tie-count")];
}

function bigRoadInWords(cells) {
  const last = cells.slice(-6).map((cell) => (cell.side === "player" ? "Player" : "Banker"));
  return cells.length === 0 ? "Big road, empty" : `Big road, the last: ${last.join(", ")}`;
}

const DRAWN = {
  big_eye_boy: { name: "Big eye boy", nodes: eyeMark },
  small_road: { name: "Small road", nodes: smallMark },
  cockroach_pig: { name: "Cockroach pig", nodes: pigMark },
};

/** Red marks are regular, blue ones are not. Blue rings carry a dot, blue discs a hole, blue strokes lean back. */
function eyeMark(kind) {
  const ring = svg("circle", { cx: 10, cy: 10, r: 7, class: `derived-ring ${kind}` });
  return kind === "derived-blue"
    ? [ring, svg("circle", { cx: 10, cy: 10, r: 2.4, class: `derived-disc ${kind}` })]
    : [ring];
}

function smallMark(kind) {
  const disc = svg("circle", { cx: 10, cy: 10, r: 8, class: `derived-disc ${kind}` });
  return kind === "derived-blue" ? [disc, svg("circle", { cx: 10, cy: 10, r: 3, class: "derived-hole" })] : [disc];
}

function pigMark(kind) {
  const d = kind === "derived-blue" ? "M4 4L16 16" : "M4 16L16 4";
  return [svg("path", { d, class: `derived-stroke ${kind}` })];
}

function derivedNodes(road, mark) {
  return DRAWN[road].nodes(mark === "B" ? "derived-blue" : "derived-red");
}

/** One of the three derived roads. */
export function drawDerived(road, cells, { columns }) {
  const marks = cells.map(({ mark, column, row }) => ({ column, row, nodes: derivedNodes(road, mark) }));
  return sheet(road.replaceAll("_", "-"), marks, columns, `${DRAWN[road].name}, ${cells.length} marks`);
}

/** The mark that a derived road would get next, alone; null draws an empty place. */
export function drawNext(road, mark) {
  const nodes = mark === null ? [svg("path", { d: "M7 10H13", class: "next-none" })] : derivedNodes(road, mark);
  return svg("svg", { viewBox: "0 0 20 20", class: "road-mark", "aria-hidden": "true" }, nodes);
}

/** What a road is called. */
export function roadName(road) {
  return DRAWN[road].name;
}

/**
 * Draws roads as SVG, six rows each, the newest column always in sight. Red and blue differ in lightness, and every mark
 * carries a letter or a shape of its own, so that nobody has to tell colours apart.
 */

import { svg } from "./svg.js";

const ROWS = 6;
const CELL = 20;

/** Draw a grid of so many columns around the marks, each `{column, row, nodes}`; columns further left stay unseen. */
function sheet(kind, marks, columns, label, cell = CELL) {
  const width = marks.reduce((widest, mark) => Math.max(widest, mark.column + 1), 0);
  const first = Math.max(0, width - columns);
  const lines = [];
  for (let column = 0; column <= columns; column += 1) lines.push(`M${column * cell} 0V${ROWS * cell}`);
  for (let row = 0; row <= ROWS; row += 1) lines.push(`M0 ${row * cell}H${columns * cell}`);
  const shown = marks.filter((mark) => mark.column >= first);
  return svg(
    "svg",
    {
      viewBox: `-0.5 -0.5 ${columns * cell + 1} ${ROWS * cell + 1}`,
      class: `road road-${kind}`,
      role: "img",
      "aria-label": label,
    },
    [
      svg("path", { d: lines.join(""), class: "road-grid" }),
      ...shown.map((mark) =>
        svg(
          "g",
          {
            transform: `translate(${(mark.column - first) * cell} ${mark.row * cell})`,
            class: mark.isNew ? "road-new" : null,
          },
          mark.nodes,
        ),
      ),
    ],
  );
}

const LETTER = { player: "P", banker: "B", tie: "T" };

function letterAt(x, y, text, kind) {
  return svg("text", { x, y, "text-anchor": "middle", "dominant-baseline": "central", class: kind }, text);
}

function pairDots({ banker_pair: banker, player_pair: player }) {
  const dots = [];
  if (banker) dots.push(svg("circle", { cx: 4.2, cy: 4.2, r: 2.4, class: "mark-banker pair-dot" }));
  if (player) dots.push(svg("circle", { cx: 15.8, cy: 15.8, r: 2.4, class: "mark-player pair-dot" }));
  return dots;
}

/** Every round in its order, ties included. */
export function drawBeadPlate(rounds, { columns }) {
  const marks = rounds.map((round, place) => ({
    column: Math.floor(place / ROWS),
    row: place % ROWS,
    isNew: place === rounds.length - 1,
    nodes: [
      svg("circle", { cx: 10, cy: 10, r: 8.2, class: `bead bead-${round.outcome}` }),
      letterAt(10, 10.6, LETTER[round.outcome], `bead-letter bead-letter-${round.outcome}`),
      ...pairDots(round),
    ],
  }));
  return sheet("bead", marks, columns, `Bead plate, ${rounds.length} rounds`);
}

/** Decisions as hollow rings, ties as strokes over them, pairs as dots in two corners. */
export function drawBigRoad(cells, { columns, tiesOnly = 0, isSmall = false }) {
  const marks = cells.map((cell, place) => ({
    column: cell.column,
    row: cell.row,
    isNew: place === cells.length - 1,
    nodes: [
      svg("circle", { cx: 10, cy: 10, r: 7.4, class: `ring mark-${cell.side}` }),
      isSmall ? null : letterAt(10, 10.6, LETTER[cell.side], `ring-letter letter-${cell.side}`),
      ...tieStroke(cell.ties),
      ...pairDots(cell),
    ].filter((node) => node !== null),
  }));
  if (tiesOnly > 0 && cells.length === 0) marks.push({ column: 0, row: 0, isNew: true, nodes: tieStroke(tiesOnly) });
  return sheet("big", marks, columns, bigRoadInWords(cells));
}

function tieStroke(ties) {
  if (ties === 0) return [];
  const stroke = svg("path", { d: "M4 16L16 4", class: "tie-stroke" });
  return ties === 1 ? [stroke] : [stroke, letterAt(10, 10.6, String(ties), "tie-count")];
}

function bigRoadInWords(cells) {
  const last = cells.slice(-6).map((cell) => (cell.side === "player" ? "Player" : "Banker"));
  return cells.length === 0 ? "Big road, empty" : `Big road, the last: ${last.join(", ")}`;
}

const DERIVED = {
  big_eye_boy: { name: "Big eye boy", nodes: eyeMark },
  small_road: { name: "Small road", nodes: smallMark },
  cockroach_pig: { name: "Cockroach pig", nodes: pigMark },
};

/** Whether blue: red ones are regular, blue ones are not. Blue marks carry a dot, or lean the other way. */
function eyeMark(isBlue) {
  const kind = isBlue ? "derived-blue" : "derived-red";
  const ring = svg("circle", { cx: 10, cy: 10, r: 6.6, class: `derived-ring ${kind}` });
  return isBlue ? [ring, svg("circle", { cx: 10, cy: 10, r: 2, class: `derived-disc ${kind}` })] : [ring];
}

function smallMark(isBlue) {
  const kind = isBlue ? "derived-blue" : "derived-red";
  const disc = svg("circle", { cx: 10, cy: 10, r: 7.2, class: `derived-disc ${kind}` });
  return isBlue ? [disc, svg("circle", { cx: 10, cy: 10, r: 2.4, class: "derived-hole" })] : [disc];
}

function pigMark(isBlue) {
  const kind = isBlue ? "derived-blue" : "derived-red";
  return [svg("path", { d: isBlue ? "M4 4L16 16" : "M4 16L16 4", class: `derived-stroke ${kind}` })];
}

/** One of the three derived roads. */
export function drawDerived(road, cells, { columns }) {
  const { name, nodes } = DERIVED[road];
  const marks = cells.map((cell, place) => ({
    column: cell.column,
    row: cell.row,
    isNew: place === cells.length - 1,
    nodes: nodes(cell.colour === "blue"),
  }));
  return sheet(road.replaceAll("_", "-"), marks, columns, `${name}, ${cells.length} marks`);
}

/** The mark that a derived road would get next, alone; null draws an empty place. */
export function drawNext(road, colour) {
  const nodes = colour === null ? [] : DERIVED[road].nodes(colour === "blue");
  return svg("svg", { viewBox: "0 0 20 20", class: "road-next", "aria-hidden": "true" }, nodes);
}

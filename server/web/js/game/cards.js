/** Cards as two characters, and what they count. Pure. */

export const RANKS = "A23456789TJQK";
export const SUITS = "cdhs";

const RANK_WORDS = {
  A: "ace",
  2: "two",
  3: "three",
  4: "four",
  5: "five",
  6: "six",
  7: "seven",
  8: "eight",
  9: "nine",
  T: "ten",
  J: "jack",
  Q: "queen",
  K: "king",
};
const SUIT_SIGNS = { c: "♣", d: "♦", h: "♥", s: "♠" };
const SUIT_WORDS = { c: "clubs", d: "diamonds", h: "hearts", s: "spades" };

/** What a card counts: ace 1, ten and pictures 0. */
export function cardValue(card) {
  const place = RANKS.indexOf(card[0]) + 1;
  return place >= 10 ? 0 : place;
}

/** The last digit of the sum. */
export function handTotal(cards) {
  return cards.reduce((sum, card) => sum + cardValue(card), 0) % 10;
}

/** The card of a number in the shoe, by the construction of PROTOCOL.md. */
export function cardOfIndex(index) {
  return RANKS[index % 13] + SUITS[Math.floor((index % 52) / 13)];
}

/** "9♥", "10♠": for lines of text. */
export function cardInShort(card) {
  return (card[0] === "T" ? "10" : card[0]) + SUIT_SIGNS[card[1]];
}

/** "nine of hearts". */
export function cardInWords(card) {
  return `${RANK_WORDS[card[0]]} of ${SUIT_WORDS[card[1]]}`;
}

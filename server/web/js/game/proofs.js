/**
 * Checks rounds and shoes against what was published before: by the proofs of their cards, or by the revealed secret. It
 * trusts nothing that it can compute. A check gives null, or a sentence that names the first difference.
 */

import { fromHex } from "./bytes.js";
import { cardOfIndex, cardValue } from "./cards.js";
import { rootOfOrder, rootOfProof } from "./merkle.js";
import { commitmentOf, digestOfCuts, shuffle } from "./shuffle.js";
import { dealHands } from "./tableau.js";

/** One card at its place against the root. */
export async function checkCard(shoe, place, card, proof, where) {
  const root = await rootOfProof(proof, place, shoe.cards);
  if (root !== shoe.root) return `${where}: its proof does not lead to the root of this shoe`;
  if (cardOfIndex(proof.index) !== card) return `${where}: shown was ${card}, proved is ${cardOfIndex(proof.index)}`;
  return null;
}

/** The first card of a shoe, and how many were burned after it. */
export async function checkBurn(shoe, { card, count, proof }) {
  const right = 1 + (cardValue(card) === 0 ? 10 : cardValue(card));
  if (count !== right) return `the burn: ${count} cards, and not ${right} from ${card}`;
  return checkCard(shoe, 0, card, proof, "the burned card");
}

/** A decided round: `cards` in deal order, from `place` on. */
export async function checkRound(shoe, { cards, place, proofs, outcome }) {
  const wrong = checkDeal(cards, outcome);
  if (wrong !== null) return wrong;
  if (proofs.length !== cards.length) return `${proofs.length} proofs for ${cards.length} cards`;
  if (new Set(proofs.map((proof) => proof.index)).size !== proofs.length) return "one card of the shoe was dealt twice";
  for (const [at, card] of cards.entries()) {
    const found = await checkCard(shoe, place + at, card, proofs[at], `card ${at + 1}`);
    if (found !== null) return found;
  }
  return null;
}

/** What the tableau says of a round. */
export function checkDeal(cards, outcome) {
  const hands = dealHands(cards);
  if (hands === null || hands.taken !== cards.length) return "the tableau deals another count of cards";
  return hands.outcome === outcome ? null : `the outcome: told was ${outcome}, dealt is ${hands.outcome}`;
}

/**
 * A shoe whose secret was revealed: `cuts` as they were listed, `seen` the cards by their place, `own` the own cut.
 */
export async function checkShoe(shoe, { secret, cuts, seen, own }) {
  const bytes = fromHex(secret);
  if (bytes === null || (await commitmentOf(bytes)) !== shoe.commitment)
    return "the secret does not open the commitment";
  if (shoe.cutCount !== null && cuts.length !== shoe.cutCount)
    return `${cuts.length} cuts are listed, ${shoe.cutCount} were told`;
  const digest = await digestOfCuts(cuts);
  if (shoe.cutsDigest !== null && digest !== shoe.cutsDigest)
    return "the listed cuts have another digest than was told";
  if (new Set(cuts.map((cut) => cut.patron)).size !== cuts.length) return "a patron has put in two cuts";
  if (own !== null && cuts[own.number - 1]?.cut !== own.cut) return "your own cut is not at its place in the list";
  const order = await shuffle(bytes, shoe.decks, shoe.number, digest);
  if (shoe.root !== null && (await rootOfOrder(bytes, shoe.decks, shoe.number, order)) !== shoe.root) {
    return "the shuffled shoe has another root than was told";
  }
  for (const [place, card] of seen) {
    const right = cardOfIndex(order[place]);
    if (right !== card) return `place ${place}: shown was ${card}, the shoe holds ${right}`;
  }
  return null;
}

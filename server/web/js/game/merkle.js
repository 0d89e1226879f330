/** The salted Merkle tree over a shoe: where a card's proof leads to, and the root of a whole order. */

import { fromHex, hmacBy, join, number, sha256, text, toHex } from "./bytes.js";

const SALT_BYTES = 16;
const HASH_BYTES = 32;
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

const leafOf = (place, index, salt) => sha256(join(LEAF, number(place, 4), number(index, 2), salt));
const nodeOf = (left, right) => sha256(join(NODE, left, right));

/** The root, in hex, that a proof of the card at `place` leads to; null for a proof of another form. */
export async function rootOfProof(proof, place, cards) {
  const salt = fromHex(proof.salt);
  const path = proof.path.map(fromHex);
  const isCard = place >= 0 && place < cards && proof.index >= 0 && proof.index < cards;
  if (!isCard || salt?.length !== SALT_BYTES || path.some((beside) => beside?.length !== HASH_BYTES)) return null;
  let node = await leafOf(place, proof.index, salt);
  let at = place;
  for (let width = cards; width > 1; width = Math.ceil(width / 2)) {
    if ((at ^ 1) < width) {
      const beside = path.shift();
      if (beside === undefined) return null;
      node = await (at % 2 === 1 ? nodeOf(beside, node) : nodeOf(node, beside));
    }
    at = Math.floor(at / 2);
  }
  return path.length > 0 ? null : toHex(node);
}

/** The root, in hex, over an order of card indexes. */
export async function rootOfOrder(secret, decks, shoe, order) {
  const hmac = await hmacBy(secret);
  const salting = join(text("bac-salt-v1\0"), number(decks, 1), number(shoe, 8));
  const salted = order.map(async (index, place) => {
    const salt = (await hmac(join(salting, number(place, 4)))).slice(0, SALT_BYTES);
    return leafOf(place, index, salt);
  });
  let level = await Promise.all(salted);
  while (level.length > 1) {
    const pairs = [];
    for (let at = 0; at + 1 < level.length; at += 2) pairs.push(nodeOf(level[at], level[at + 1]));
    const above = await Promise.all(pairs);
    level = level.length % 2 === 1 ? [...above, level.at(-1)] : above;
  }
  return toHex(level[0]);
}

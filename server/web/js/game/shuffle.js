/** The order of a shoe from its secret and the patrons' cuts, `bac-shoe-v1` of PROTOCOL.md, section 15. */

import { fromHex, hmacBy, join, number, sha256, text, toHex } from "./bytes.js";

const WORD_VALUES = 2 ** 32;

/** What is published of a secret before the first bet, in hex. */
export async function commitmentOf(secret) {
  return toHex(await sha256(secret));
}

/** What stands for all cuts, each `{patron, cut}`, in their order, in hex: the `cuts_digest`. */
export async function digestOfCuts(cuts) {
  const fields = cuts.flatMap(({ patron, cut }) => [text(patron), fromHex(cut)]);
  return toHex(await sha256(join(...fields.flatMap((field) => [number(field.length, 2), field]))));
}

/** The card indexes of a shoe in deal order. */
export async function shuffle(secret, decks, shoe, digest) {
  const context = join(text("bac-shoe-v1\0"), number(decks, 1), number(shoe, 8), fromHex(digest));
  const hmac = await hmacBy(secret);
  const words = [];
  let block = 0;
  const more = async () => {
    const view = new DataView((await hmac(join(context, number(block, 4)))).buffer);
    for (let at = 0; at < 8; at += 1) words.push(view.getUint32(4 * at));
    block += 1;
  };
  const order = Array.from({ length: 52 * decks }, (_, index) => index);
  for (let last = order.length - 1; last > 0; last -= 1) {
    const bound = last + 1;
    const limit = WORD_VALUES - (WORD_VALUES % bound);
    let word;
    do {
      if (words.length === 0) await more();
      word = words.shift();
    } while (word >= limit);
    const chosen = word % bound;
    [order[last], order[chosen]] = [order[chosen], order[last]];
  }
  return order;
}

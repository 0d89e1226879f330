/**
 * How many ordered draws of six cards from a fresh shoe of so many decks begin with a round of each outcome, exactly.
 * They are those of the library's `client_sdk/game/odds.py`, and a test holds them equal: a browser would take seconds
 * to count them.
 */

export const ROUND_COUNTS = {
  1: { player: 6548674432, banker: 6737232640, tie: 1372227328 },
  2: { player: 487816735232, banker: 501543728128, tie: 103154274240 },
  3: { player: 5837305562496, banker: 6000349195008, tie: 1238768922816 },
  4: { player: 33608344225792, banker: 34543624867840, tie: 7145601996928 },
  5: { player: 130087780016000, banker: 133700037548800, tie: 27690387926400 },
  6: { player: 392220492728832, banker: 403095751234560, tie: 83552962932288 },
  7: { player: 995884732700032, banker: 1023469376328448, tie: 212268385833280 },
  8: { player: 2230518282592256, banker: 2292252566437888, tie: 475627426473216 },
};

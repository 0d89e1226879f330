/**
 * What a sitting has brought so far: what is there now, less what was bought in. What was bought in is read from the
 * patron's statement, back to the last time that chips came home from the table.
 */

const PAGES_MAX = 20;
const PAGE_LINES = 100;

/**
 * @param {(request: object) => Promise<object>} ask
 * @returns {Promise<{boughtIn: number} | null>} null where the statement does not reach back so far
 */
export async function readSitting(ask, table) {
  let before = null;
  let boughtIn = 0;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { lines, more } = await ask({ type: "statement", before, limit: PAGE_LINES });
    for (const line of lines) {
      if (line.table !== table) continue;
      if (line.kind === "cash_out_taken") return { boughtIn };
      if (line.kind === "buy_in_given" || line.kind === "buy_in_refused") boughtIn -= line.amount;
    }
    if (!more) return { boughtIn };
    before = lines.at(-1).id;
  }
  return null;
}

/** What the sitting stands at; null where it is not known. */
export function sittingNet(sitting, you) {
  if (sitting === null || you === null) return null;
  const lying = Object.values(you.bets).reduce((sum, amount) => sum + amount, 0);
  return you.stack + lying - sitting.boughtIn;
}

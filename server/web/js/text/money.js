/**
 * Amounts for people: whole minor units on the wire, the reader's own way of writing numbers on the page. Pure. Amounts
 * never pass through a fraction of a double: the decimal text is made first, digit by digit.
 */

/** `1234567` with exponent 2 as "12345.67". */
export function decimalOf(amount, exponent) {
  const digits = String(Math.abs(amount)).padStart(exponent + 1, "0");
  const whole = digits.slice(0, digits.length - exponent);
  const fraction = exponent > 0 ? `.${digits.slice(-exponent)}` : "";
  return `${amount < 0 ? "-" : ""}${whole}${fraction}`;
}

export class Money {
  /** @param {string | undefined} locale undefined: the reader's own */
  constructor(exponent, currency, locale = undefined) {
    this.exponent = exponent;
    this.currency = currency;
    const exact = { minimumFractionDigits: exponent, maximumFractionDigits: exponent };
    this.plain = new Intl.NumberFormat(locale, exact);
    this.signed = new Intl.NumberFormat(locale, { ...exact, signDisplay: "exceptZero" });
    this.short = new Intl.NumberFormat(locale, {
      minimumFractionDigits: 0,
      maximumFractionDigits: exponent,
      useGrouping: false,
    });
    this.decimalSign = this.plain.formatToParts(1.1).find((part) => part.type === "decimal")?.value ?? ".";
    this.compact = new Intl.NumberFormat(locale, { notation: "compact", maximumSignificantDigits: 3 });
    this.isWhole = (amount) => amount % 10 ** exponent === 0;
  }

  /** "1,234.50": to the unit, always with all its digits. */
  format(amount) {
    return this.plain.format(decimalOf(amount, this.exponent));
  }

  /** "+12.50", "-3.00", "0.00". */
  formatSigned(amount) {
    return this.signed.format(decimalOf(amount, this.exponent));
  }

  /** "1,234.50 PTO". */
  formatNamed(amount) {
    return `${this.format(amount)} ${this.currency}`;
  }

  /** "500", "2.50": for chips and limits, without needless zeros. */
  formatShort(amount) {
    const text = decimalOf(amount, this.exponent);
    return this.short.format(text);
  }

  /** What stands on a chip: short, and shortened from a thousand on. */
  formatChip(amount) {
    const units = amount / 10 ** this.exponent;
    return units >= 1000 ? this.compact.format(units) : this.formatShort(amount);
  }

  /**
   * What a person typed, in minor units; null where it is no amount. Grouping is passed over, and both signs for
   * decimals are taken where they can't be meant otherwise.
   */
  parse(text) {
    const bare = text.trim().replace(/[\s\u00a0\u202f'’]/g, "");
    const sign = this.decimalSign;
    const grouping = sign === "," ? "." : ",";
    let plain = bare.includes(sign) ? bare.replaceAll(grouping, "").replace(sign, ".") : bare;
    if (!bare.includes(sign) && bare.includes(grouping)) {
      const isGrouped = new RegExp(`^\\d{1,3}(\\${grouping}\\d{3})+$`).test(bare);
      plain = isGrouped ? bare.replaceAll(grouping, "") : bare.replace(grouping, ".");
    }
    const found = /^(\d{1,13})(?:\.(\d*))?$/.exec(plain);
    if (found === null) return null;
    const fraction = (found[2] ?? "").replace(/0+$/, "");
    if (fraction.length > this.exponent) return null;
    const amount = Number(found[1] + fraction.padEnd(this.exponent, "0"));
    return Number.isSafeInteger(amount) ? amount : null;
  }
}

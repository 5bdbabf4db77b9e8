// Words that depend on a number.

/** counting returns a function that chooses between the forms of a language for a number, which stands for #. */
export function counting(lang: string): (n: number, one: string, other: string) => string {
  const rules = new Intl.PluralRules(lang);
  return (n, one, other) => (rules.select(n) === "one" ? one : other).replace("#", n.toLocaleString(lang));
}

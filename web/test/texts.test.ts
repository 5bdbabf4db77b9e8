// The catalogues: each has every text, with its numbers and names, and none is English by mistake.

import assert from "node:assert/strict";
import { test } from "node:test";
import { choose } from "../src/texts";
import { counting } from "../src/texts/counting";
import { de } from "../src/texts/de";
import { en } from "../src/texts/en";
import { es } from "../src/texts/es";
import { fr } from "../src/texts/fr";

/** same are texts that are the same in some language. */
const same = new Set(["name", "play.chess960", "watch.chess960", "you.unrated", "watch.standard", "play.pieces.p", "settings.system", "watch.live", "live.label", "predict.refused.0", "predict.refused.1", "notices.announcement"]);

/** flat lists the texts of a catalogue by their path; of a function what it says to examples. */
function flat(words: unknown, path = ""): [string, string][] {
  if (typeof words === "string") return [[path, words]];
  if (typeof words === "function") {
    const f = words as (...a: unknown[]) => string;
    if (path === "when" || path === "name_.later") return [[path, f(new Date(0))]];
    if (path === "notices.payout") return [1, 3].map((games) => [`${path} ${games}`, f("7", { points: "2.5", games })]);
    return [1, 2, 5, 1000].map((n) => [`${path} ${n}`, f(...Array(f.length).fill(n).map((x: number) => (/^(live|link\.place|trail\.n|predict\.(others|streak)|watch\.(move|players|page)|game\.(movers|more|length)|map\.boards|you\.today|play\.(predicted|clocks))/.test(path) ? x : String(x))))]);
  }
  return Object.entries(words as object).flatMap(([k, v]) => flat(v, path ? `${path}.${k}` : k));
}

const english = new Map(flat(en));

for (const [lang, words] of Object.entries({ de, fr, es })) {
  test(`${lang} has every text, and none that is missing or English`, () => {
    const texts = new Map(flat(words));
    assert.deepEqual([...texts.keys()].sort(), [...english.keys()].sort());
    const suspect = [...texts].filter(([path, text]) => {
      const base = path.split(" ")[0];
      if (same.has(base) || same.has(path)) return false;
      const e = english.get(path)!;
      return text === "" || text.includes("undefined") || (text === e && /[a-z]{4}/.test(text));
    });
    assert.deepEqual(suspect.filter(([, text]) => !/^(Points|Rating|Live|Session|Chess960|Page|Normal|pat)/.test(text)), []);
    for (const [path, text] of texts) for (const digit of english.get(path)!.match(/\d+/g) ?? []) if (path !== "when" && path !== "name_.later" && digit.length < 3) assert.ok(text.includes(digit), `${path}: ${text}`);
  });
}

test("numbers choose their form by the rules of the language", () => {
  assert.equal(counting("en")(0, "# a", "# b"), "0 b");
  assert.equal(counting("fr")(0, "# a", "# b"), "0 a");
  assert.equal(counting("de")(1, "# a", "# b"), "1 a");
  assert.equal(counting("de")(12345, "# a", "# b"), "12.345 b");
});

test("the language is the chosen one, or the first of the browser's that there is", () => {
  assert.equal(choose(undefined, ["pt-BR", "fr-CA", "de"]), "fr");
  assert.equal(choose("es", ["de"]), "es");
  assert.equal(choose("tlh", []), "en");
});

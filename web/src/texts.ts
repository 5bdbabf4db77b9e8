// The words of the player's language: that of the settings, or the first of the
// browser's that there is a catalogue for. A catalogue beside English is loaded
// before anything is shown.

import { keys } from "./session/storage";
import { en } from "./texts/en";

/** Words is the type of a catalogue: English, with any text in place of each text. */
type Words<T> = T extends string ? string : T extends (...a: infer A) => string ? (...a: A) => string : T extends readonly string[] ? readonly string[] : { [K in keyof T]: Words<T[K]> };
export type Texts = Words<typeof en>;

/** languages are those with a catalogue, by their own name. */
export const languages: Record<string, string> = { en: "English", de: "Deutsch", fr: "Français", es: "Español" };

const catalogues: Record<string, () => Promise<Texts>> = {
  de: () => import("./texts/de").then((m) => m.de),
  fr: () => import("./texts/fr").then((m) => m.fr),
  es: () => import("./texts/es").then((m) => m.es),
};

/** choose returns the language to show: the chosen one, or the first wanted one that there is. */
export function choose(chosen: string | undefined, wanted: readonly string[]): string {
  return [chosen ?? "", ...wanted].map((l) => l.toLowerCase().split("-")[0]).find((l) => l in languages) ?? "en";
}

function chosen(): string | undefined {
  try {
    return (JSON.parse(localStorage.getItem(keys.settings) ?? "{}") as { language?: string }).language;
  } catch {
    return undefined; // a browser that forbids storage
  }
}

/** language is what the page speaks. */
export const language = choose(chosen(), globalThis.navigator?.languages ?? []);
const rightToLeft = ["ar", "fa", "he", "ur"];

if (globalThis.document) {
  document.documentElement.lang = language;
  document.documentElement.dir = rightToLeft.includes(language) ? "rtl" : "ltr";
}

export const t: Texts = (await catalogues[language]?.().catch(() => en)) ?? en;

// What a player chose: stored in the browser.

import { LocalData, keys } from "./session/storage";
import { Store } from "./session/store";

export interface Settings {
  theme: "system" | "light" | "dark";
  sound: boolean;
  language?: string; // otherwise the browser's
  flipped: boolean;
}

const stored = new LocalData(localStorage);
export const settings = new Store<Settings>({ theme: "system", sound: false, flipped: false, ...stored.read<Settings>(keys.settings) });

function apply(s: Settings): void {
  document.documentElement.dataset.theme = s.theme;
}

apply(settings.value);
settings.subscribe((s) => {
  stored.write(keys.settings, s);
  apply(s);
});

/** reducedMotion reports whether the player wants no animations. */
export const reducedMotion = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

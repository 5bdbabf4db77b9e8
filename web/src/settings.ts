// What a player chose: kept in the browser.

import { Keep, keys } from "./session/keep";
import { Store } from "./session/store";

export interface Settings {
  theme: "system" | "light" | "dark";
  sound: boolean;
  flipped: boolean;
}

const keep = new Keep(localStorage);
export const settings = new Store<Settings>({ theme: "system", sound: false, flipped: false, ...keep.read<Settings>(keys.settings) });

function apply(s: Settings): void {
  document.documentElement.dataset.theme = s.theme;
}

apply(settings.value);
settings.subscribe((s) => {
  keep.write(keys.settings, s);
  apply(s);
});

export const calm = (): boolean => matchMedia("(prefers-reduced-motion: reduce)").matches;

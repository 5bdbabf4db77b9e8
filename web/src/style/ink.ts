// The colours of the style sheet, for drawing on a canvas.

import { useEffect, useState } from "preact/hooks";

/** ink is a colour of the style sheet as it is now, in light or in dark. Where colours
 * are forced on the page it stays as it is: a board needs squares. */
export function ink(name: string): string {
  const probe = document.createElement("i");
  probe.style.forcedColorAdjust = "none";
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/** useScheme is "dark" or "light", as the system has it, and follows it. */
export function useScheme(): string {
  const asked = matchMedia("(prefers-color-scheme: dark)");
  const name = () => (asked.matches ? "dark" : "light");
  const [scheme, set] = useState(name);
  useEffect(() => {
    const follow = () => set(name());
    asked.addEventListener("change", follow);
    return () => asked.removeEventListener("change", follow);
  }, []);
  return scheme;
}

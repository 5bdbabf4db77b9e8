// A player's name; a guest has a number, and a colour by which one knows it again.

import { t } from "../texts";
import type { Int } from "../wire";

const golden = 137.508; // degrees: neighbours get colours that are far apart

/** guestColour is the colour of a guest, readable in light and in dark. */
export function guestColour(id: number): string {
  const hue = Math.round((id * golden) % 360);
  return `light-dark(hsl(${hue} 70% 27%), hsl(${hue} 75% 79%))`;
}

export function Name({ handle, id, bot }: { handle: string; id: Int; bot?: boolean }) {
  const mark = bot && <small> · {t.name_.bot}</small>;
  if (handle)
    return (
      <span>
        {handle}
        {mark}
      </span>
    );
  return (
    <span style={{ color: guestColour(Number(id)) }}>
      {Number(id) ? t.name_.guest(String(id)) : t.you.guest}
      {mark}
    </span>
  );
}

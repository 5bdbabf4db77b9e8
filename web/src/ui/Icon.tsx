// Small line icons, drawn on 24 × 24, and buttons that are only an icon.

import type { ComponentProps } from "preact";
import { t } from "../texts";

const paths: Record<string, string> = {
  flip: "M7 4v14M7 18l-3-3M7 18l3-3M17 20V6M17 6l-3 3M17 6l3 3",
  sound: "M4 9v6h4l5 4V5L8 9ZM16.500 9a4 4 0 0 1 0 6M19 6.500a8 8 0 0 1 0 11",
  mute: "M4 9v6h4l5 4V5L8 9ZM17 9.500l4 5M21 9.500l-4 5",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.700-5.700l-1.500 1.500M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.700 5.700l1.500-1.500",
  play: "M12 3l2.500 5.500L20 9l-4 4 1 6-5-3-5 3 1-6-4-4 5.500-.5Z",
  run: "M7 4l13 8-13 8Z",
  pause: "M8 5v14M16 5v14",
  board: "M4 4h16v16H4ZM4 12h16M12 4v16",
  watch: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12ZM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6Z",
  you: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM4 21c0-4 3.500-6.500 8-6.500s8 2.500 8 6.500",
  bot: "M5 9h14v10H5ZM12 9V4M9.500 13v2M14.500 13v2M2 13v3M22 13v3",
  gear: "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM12 2v3M12 19v3M4.200 4.200l2.100 2.100M17.700 17.700l2.100 2.100M2 12h3M19 12h3M4.200 19.800l2.100-2.100M17.700 6.300l2.100-2.100",
  first: "M6 5v14M18 5l-9 7 9 7Z",
  back: "M15 5l-8 7 8 7",
  forward: "M9 5l8 7-8 7",
  last: "M18 5v14M6 5l9 7-9 7Z",
  download: "M12 4v11M12 15l-4-4M12 15l4-4M5 20h14",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  whole: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  close: "M6 6l12 12M18 6L6 18",
  flame: "M12 3c1 4 5 6 5 11a5 5 0 0 1-10 0c0-2 1-3.500 2-4.500 0 2 1 3 2 3 1.500 0 2-3 1-9.500Z",
};

export function Icon({ name }: { name: keyof typeof paths | string }) {
  return (
    <svg class="glyph-icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

/** BotMark says that a program made the last move. */
export function BotMark() {
  return (
    <i class="bot" role="img" aria-label={t.watch.byBot} title={t.watch.byBot}>
      <Icon name="bot" />
    </i>
  );
}

export function IconButton({ name, label, ...rest }: ComponentProps<"button"> & { name: string; label: string }) {
  return (
    <button type="button" class="icon" aria-label={label} title={label} {...rest}>
      <Icon name={name} />
    </button>
  );
}

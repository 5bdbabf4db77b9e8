// The announcements of the host that stay until a time.

import type { Stays } from "./session/session";
import { Store } from "./session/store";

export interface Announcement {
  id: number;
  text: string;
  urgent: boolean;
  countdown: boolean;
  end: number; // ms, by this machine's clock
}

export const announcements = new Store<readonly Announcement[]>([]);
const closed = new Set<number>();
const longest = 2 ** 31 - 1; // ms of a timer

/** announce shows an announcement until its end, or takes it away. One that was closed stays so. */
export function announce(text: string, urgent: boolean, stays: Stays): void {
  const { id, seconds, countdown } = stays;
  const others = announcements.value.filter((a) => a.id !== id);
  if (closed.has(id)) return;
  if (seconds <= 0) return announcements.set(others);
  const end = Date.now() + seconds * 1000;
  announcements.set([...others, { id, text, urgent, countdown, end }]);
  setTimeout(() => announcements.set(announcements.value.filter((a) => a.id !== id || a.end > Date.now() + 500)), Math.min(seconds * 1000, longest));
}

export function close(id: number): void {
  closed.add(id);
  announcements.set(announcements.value.filter((a) => a.id !== id));
}

/** left says how long it is until a time, in the largest unit of which it has more than one and a half. */
export function left(ms: number, lang: string): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const units: [number, Intl.RelativeTimeFormatUnit][] = [
    [86400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ];
  const [size, unit] = units.find(([size]) => seconds > 1.5 * size) ?? [1, "second"];
  return new Intl.RelativeTimeFormat(lang, { numeric: "always" }).format(Math.round(seconds / size), unit);
}

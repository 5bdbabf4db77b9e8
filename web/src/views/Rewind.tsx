// The slider of the past, from the first board until now.

import { useEffect, useState } from "preact/hooks";
import { api } from "../api";
import { session } from "../app";
import { useStore } from "../session/store";
import { t } from "../texts";

/** Life is how long the world has lived, by the server's clock. */
interface Life {
  began: number; // ms
  ahead: number; // ms by which the server's clock is ahead of ours
}

/** useLife asks how long the world has lived; null while that is not known, or not to be told before the terms are accepted. */
export function useLife(): Life | null {
  const [life, set] = useState<Life | null>(null);
  const { link, caps } = useStore(session.status);
  const refused = link === "online" && caps === 0;
  useEffect(() => {
    if (refused) return;
    let gone = false;
    api.began().then((b) => gone || set({ began: Date.parse(b.began), ahead: Date.parse(b.now) - Date.now() }), () => {});
    return () => {
      gone = true;
    };
  }, [refused]);
  return life;
}

/** nowOf is the time of the server, in ms. */
export const nowOf = (life: Life): number => Date.now() + life.ahead;

/** Slider chooses a time; at null it stands at the end. Done is told when it is let go. */
export function Slider({ life, at, onSeek, onDone }: { life: Life; at: number | null; onSeek: (at: number) => void; onDone?: (at: number) => void }) {
  const now = nowOf(life);
  const [first, last] = [Math.floor(life.began / 1000), Math.max(Math.floor(now / 1000), Math.ceil(life.began / 1000) + 1)];
  const value = at === null ? last : Math.min(last, Math.max(first, Math.floor(at / 1000)));
  return (
    <input
      type="range"
      min={first}
      max={last}
      step={1}
      value={value}
      aria-label={t.rewind.slider}
      aria-valuetext={at === null ? t.rewind.now : t.rewind.when(new Date(value * 1000))}
      onInput={(e) => onSeek(Number(e.currentTarget.value) * 1000)}
      onChange={(e) => onDone?.(Number(e.currentTarget.value) * 1000)}
    />
  );
}

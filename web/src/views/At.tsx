// Every board as it was at a second of the past, and on from there.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api";
import { go, tell } from "../app";
import { useStore } from "../session/store";
import { settings } from "../settings";
import { useScheme } from "../style/ink";
import { t } from "../texts";
import { copy } from "../ui/copy";
import { Icon, IconButton } from "../ui/Icon";
import { Link } from "../ui/Link";
import { coloursNow, paint } from "../wall/paint";
import { addressOf, Minute, minuteOf, type Sight } from "../wall/past";
import { Places } from "../wall/places";
import { resultOf } from "./Result";
import { nowOf, Slider, useLife } from "./Rewind";

const perPage = 50;
const step = 4; // pages of boards that are asked for at once
const frame = 100; // ms
const settled = 2_000; // ms that the database may be behind
const speeds = [1, 10, 60];

/** useMinutes returns a function to look up minutes, which are asked for as they are needed, with some pages of their boards. */
function useMinutes(pages: number): (at: number) => Minute | "loading" | "failed" {
  const known = useMemo(() => new Map<number, Minute | "loading" | "failed">(), []);
  const growing = useMemo(() => new WeakSet<Minute>(), []);
  const [, redraw] = useState(0);
  return (at) => {
    const minute = known.get(at);
    const part = minute instanceof Minute && minute.next && minute.pages < pages ? minute : undefined;
    if (minute && (!part || growing.has(part))) return minute;
    if (part) growing.add(part);
    else {
      if (known.size > 30) known.delete(known.keys().next().value!);
      known.set(at, "loading");
    }
    const keep = (m: Minute | "failed", stays: number) => {
      known.set(at, m);
      redraw((n) => n + 1);
      if (stays < Infinity) setTimeout(() => known.get(at) === m && known.delete(at), stays);
    };
    Minute.load(at, pages, api.past, part).then(
      (m) => keep(m, at + 60_000 + 2 * settled < Date.now() ? Infinity : 2_000),
      () => {
        if (!part) return keep("failed", 2_000);
        setTimeout(() => {
          growing.delete(part); // it is tried again
          redraw((n) => n + 1);
        }, 2_000);
      },
    );
    return part ?? "loading";
  };
}

export function At({ time }: { time: string }) {
  const life = useLife();
  const [at, setAt] = useState(() => Date.parse(time));
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(speeds[0]);
  const [page, setPage] = useState(0);
  const [wanted, setWanted] = useState(step); // pages of boards
  const minuteAt = useMinutes(wanted);
  const places = useMemo(() => new Places(), []);
  const colours = useStore(settings).theme + useScheme();
  const shown = useRef<Minute | null>(null);

  useEffect(() => setAt(Date.parse(time)), [time]);
  useEffect(() => {
    document.title = `${t.rewind.title} · ${t.name}`;
  }, []);
  // The address follows, so that it can be shared, but not so fast that the browser complains.
  useEffect(() => {
    const timer = setTimeout(() => location.pathname.startsWith("/at/") && history.replaceState(null, "", addressOf(at)), playing ? 1000 : 200);
    return () => clearTimeout(timer);
  }, [playing ? Math.floor(at / (speed * 2000)) : at]);

  const minute = minuteAt(minuteOf(at));
  if (minute instanceof Minute) shown.current = minute;
  const waits = minute === "loading";
  useEffect(() => {
    if (!playing || !life) return;
    const timer = setInterval(() => {
      setAt((at) => {
        if (!(minuteAt(minuteOf(at)) instanceof Minute)) return at; // it waits for the past to come
        minuteAt(Math.min(minuteOf(at) + 60_000, minuteOf(nowOf(life))));
        return Math.min(at + frame * speed, nowOf(life) - settled);
      });
    }, frame);
    return () => clearInterval(timer);
  }, [playing, speed, life, wanted]);
  useEffect(() => {
    if (playing && life && at >= nowOf(life) - settled) go("/watch"); // the present
  }, [at]);

  // While a minute is on its way the last one stays.
  const sights = new Map<string, Sight>();
  for (const s of shown.current?.look(shown.current === minute ? at : Math.min(Math.max(at, shown.current.at), shown.current.at + 59_999)) ?? []) sights.set(s.id, s);
  places.settle(sights);
  const pages = Math.max(1, Math.ceil(places.length / perPage));
  const current = Math.min(page, pages - 1);
  const when = t.rewind.when(new Date(at));
  const more = !!shown.current?.next; // there are boards that were not asked for
  const grows = more && shown.current!.pages < wanted;

  return (
    <div class="watch" data-at={at} data-waits={waits}>
      <header class="view-head">
        <div>
          <h1>{when}</h1>
          <p class="faint">{t.rewind.lead}</p>
        </div>
        <span class="faint" data-boards={sights.size}>
          {more ? t.rewind.some(sights.size) : t.map.boards(sights.size)}
        </span>
        {more && (
          <button type="button" data-more disabled={grows} onClick={() => setWanted(shown.current!.pages + step)}>
            {grows ? t.watch.loading : t.rewind.more}
          </button>
        )}
        {pages > 1 && (
          <div class="pager">
            <IconButton name="back" label={t.watch.previous} disabled={current === 0} onClick={() => setPage(current - 1)} />
            <span role="status">{more ? t.rewind.page(current + 1) : t.watch.page(current + 1, pages)}</span>
            <IconButton name="forward" label={t.watch.next} disabled={current >= pages - 1} onClick={() => setPage(current + 1)} />
          </div>
        )}
        <Link href="/watch">{t.watch.back}</Link>
      </header>
      {sights.size === 0 ? (
        <p class="card faint">{minute === "failed" ? t.you.failed : waits || more ? t.watch.loading : t.rewind.empty}</p>
      ) : (
        <div class="wall" role="group" aria-label={t.rewind.wall}>
          {places.slice(current * perPage, (current + 1) * perPage).map((id, i) => {
            const sight = id === null ? undefined : sights.get(id);
            return sight ? <PastTile key={sight.id} sight={sight} colours={colours} /> : <i key={`free ${i}`} class="tile free" />;
          })}
        </div>
      )}
      {life && (
        <div class="rewind" role="group" aria-label={t.rewind.title}>
          <button type="button" class="icon" aria-label={playing ? t.rewind.pause : t.rewind.play} title={playing ? t.rewind.pause : t.rewind.play} onClick={() => setPlaying(!playing)}>
            <Icon name={playing ? "pause" : "run"} />
          </button>
          <Slider life={life} at={at} onSeek={setAt} />
          <div class="segments" role="group" aria-label={t.rewind.speed}>
            {speeds.map((s) => (
              <button key={s} type="button" aria-pressed={s === speed} onClick={() => setSpeed(s)}>
                {`${s}×`}
              </button>
            ))}
          </div>
          <IconButton name="link" label={t.rewind.share} onClick={async () => tell((await copy(new URL(addressOf(at), location.href).href)) ? t.you.copied : addressOf(at))} />
          <Link href="/watch">{t.rewind.now}</Link>
        </div>
      )}
    </div>
  );
}

const scores: Record<string, string> = { white: "1–0", black: "0–1", draw: "½–½" };

function PastTile({ sight, colours }: { sight: Sight; colours: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { id, fen, ply, lastMove, end } = sight;
  useLayoutEffect(() => {
    const c = canvas.current!;
    c.width = c.height = 8 * Math.max(12, Math.round((c.clientWidth * Math.min(2, devicePixelRatio)) / 8));
    c.dataset.fen = fen;
    paint(c, { fen, lastMove }, coloursNow());
  }, [fen, colours]);
  return (
    <Link class={end ? "tile gone" : "tile"} href={`/board/${id}`} data-board={id}>
      <div>
        <canvas ref={canvas} aria-hidden="true" />
        {end && <b class="score">{scores[end.winner]}</b>}
      </div>
      <span>{t.play.board(id)}</span>
      <span class="faint">{end ? <span title={resultOf(end)}>{t.endings[end.reason] ?? end.reason}</span> : t.watch.move(Math.max(1, Math.ceil(ply / 2)))}</span>
    </Link>
  );
}

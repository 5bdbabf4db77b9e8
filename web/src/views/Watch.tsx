// The wall: fifty live boards at a time, each in a place of its own.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type Game, gameSince } from "../api";
import { go, session, watcher } from "../app";
import { moversOf } from "../movers";
import { useStore } from "../session/store";
import { reducedMotion, settings } from "../settings";
import { useScheme } from "../style/ink";
import { t } from "../texts";
import { BotMark, Icon } from "../ui/Icon";
import { Link } from "../ui/Link";
import { nameOf } from "../ui/Name";
import { Painter } from "../wall/painter";
import { addressOf } from "../wall/past";
import { Places } from "../wall/places";
import { because } from "../words";
import { Featured } from "./Featured";
import { Slider, useLife } from "./Rewind";

const perPage = 50;
const lookEvery = 400; // ms between two requests for what a tile says about its players

type Filter = "all" | "standard" | "chess960";
const filters: [Filter, string][] = [
  ["all", t.watch.all],
  ["standard", t.watch.standard],
  ["chess960", t.watch.chess960],
];

/** usePlaces returns the places of the boards; the number changes with them. */
function usePlaces(): [Places, number] {
  const places = useMemo(() => new Places(), []);
  const [n, set] = useState(0);
  useEffect(() => {
    let frame = 0;
    const settle = () => {
      frame = 0;
      if (places.settle(watcher.boards)) set((n) => n + 1);
    };
    settle();
    const off = watcher.tick.subscribe(() => (frame ||= requestAnimationFrame(settle)));
    return () => {
      off();
      cancelAnimationFrame(frame);
    };
  }, []);
  return [places, n];
}

export function Watch() {
  const { link } = useStore(session.status);
  const state = useStore(watcher.state);
  const theme = useStore(settings).theme;
  const scheme = useScheme();
  const [filter, setFilter] = useState<Filter>("all");
  const [page, setPage] = useState(0);
  const [places] = usePlaces();
  const painter = useMemo(() => new Painter(watcher), []);
  const wall = useRef<HTMLDivElement>(null);
  const life = useLife();
  const [sought, seek] = useState<number | null>(null);

  useEffect(() => {
    document.title = `${t.watch.title} · ${t.name}`;
    (window as any).wambleWall = painter.tally;
    return () => {
      painter.stop();
      watcher.stop();
    };
  }, []);
  useEffect(() => {
    setPage(0);
    places.clear();
    watcher.watch({ kind: "summary", standard: filter === "standard", chess960: filter === "chess960" });
  }, [filter]);
  useEffect(() => painter.repaint(), [theme, scheme]);

  const pages = Math.max(1, Math.ceil(places.length / perPage));
  const at = Math.min(page, pages - 1);
  const shown = places.slice(at * perPage, (at + 1) * perPage);

  const onKeyDown = (e: KeyboardEvent) => {
    const next = neighbour([...wall.current!.querySelectorAll<HTMLElement>("a.tile")], document.activeElement, e.key);
    next?.focus();
    if (next) e.preventDefault();
  };

  return (
    <div class="watch">
      <header class="view-head">
        <div>
          <h1>{t.watch.title}</h1>
          <p class="faint">
            {t.watch.lead} <Link href="/map">{t.map.title}</Link> · <Link href="/finished">{t.finished.title}</Link>
          </p>
        </div>
        <div class="segments" role="group" aria-label={t.watch.filter}>
          {filters.map(([value, text]) => (
            <button key={value} type="button" aria-pressed={filter === value} onClick={() => setFilter(value)}>
              {text}
            </button>
          ))}
        </div>
        <div class="pager">
          <button type="button" class="icon" aria-label={t.watch.previous} disabled={at === 0} onClick={() => setPage(at - 1)}>
            <Icon name="back" />
          </button>
          <span role="status">{t.watch.page(at + 1, pages)}</span>
          <button type="button" class="icon" aria-label={t.watch.next} disabled={at >= pages - 1} onClick={() => setPage(at + 1)}>
            <Icon name="forward" />
          </button>
        </div>
      </header>
      {state === "refused" ? (
        <p class="card">{`${t.watch.refused} ${because(watcher.refusal)}.`}</p>
      ) : shown.length === 0 ? (
        <p class="card faint">{link === "online" && state === "summary" ? t.watch.empty : t.watch.loading}</p>
      ) : (
        <div ref={wall} class="wall" role="group" aria-label={t.watch.wall} onKeyDown={onKeyDown}>
          <Featured colours={theme + scheme} />
          {shown.map((id, i) => (id === null ? <i key={`free ${i}`} class="tile free" /> : <Tile key={id} id={id} painter={painter} />))}
        </div>
      )}
      {life && (
        <div class="rewind" role="group" aria-label={t.rewind.title}>
          <span>{sought === null ? t.rewind.title : t.rewind.when(new Date(sought))}</span>
          <Slider life={life} at={sought} onSeek={seek} onDone={(at) => go(addressOf(at))} />
        </div>
      )}
    </div>
  );
}

/** neighbour is the tile beside one, in the direction of an arrow key. */
function neighbour(tiles: HTMLElement[], from: Element | null, key: string): HTMLElement | undefined {
  const i = tiles.indexOf(from as HTMLElement);
  if (i < 0) return undefined;
  if (key === "ArrowLeft" || key === "ArrowRight") return tiles[i + (key === "ArrowLeft" ? -1 : 1)];
  if (key !== "ArrowUp" && key !== "ArrowDown") return undefined;
  const down = key === "ArrowDown" ? 1 : -1;
  const here = tiles[i];
  const far = (e: HTMLElement) => 10 * down * (e.offsetTop - here.offsetTop) + Math.abs(e.offsetLeft - here.offsetLeft);
  return tiles.filter((e) => down * (e.offsetTop - here.offsetTop) > 0).sort((a, b) => far(a) - far(b))[0];
}

function Tile({ id, painter }: { id: string; painter: Painter }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const tile = useRef<HTMLDivElement>(null);
  const move = useRef<HTMLSpanElement>(null);
  const [game, setGame] = useState<Game | null>(null);
  const [gone, setGone] = useState(false);
  const [moved, setMoved] = useState(0); // version of the last change
  useLayoutEffect(() => {
    // Painted before the browser shows the tile: it is never blank.
    const side = 8 * Math.max(12, Math.round((canvas.current!.clientWidth * Math.min(2, devicePixelRatio)) / 8));
    canvas.current!.width = canvas.current!.height = side;
    painter.show(id, canvas.current, (b) => {
      if (b.ply) move.current!.textContent = t.watch.move(Math.ceil(b.ply / 2));
      setGone(b.gone > 0);
      setMoved(b.version);
      ripple(tile.current!, b.lastMove?.[1]);
    });
    return () => painter.show(id, null);
  }, [id]);
  useEffect(() => looks.of(id, setGame), [id]);
  useEffect(() => {
    if (gone) void gameSince(id, moved).then((g) => g?.result && setGame(g)); // without a result it is asleep: if somebody plays on soon, it has its place still
  }, [gone]);
  const board = watcher.boards.get(id);
  const players = game && moversOf(game.moves).length;
  const thinks = !gone && game?.status === "RESERVED" && game.version >= moved;
  const score = gone && game?.result && { white: "1–0", black: "0–1", draw: "½–½" }[game.result.winner];
  return (
    <Link class={gone ? "tile gone" : "tile"} href={`/watch/${id}`} data-board={id}>
      <div ref={tile}>
        <canvas ref={canvas} aria-hidden="true" />
        {score && <b class="score">{score}</b>}
        {thinks && <i class="pulse" title={t.watch.thinks((game.holder && nameOf(game.holder)) ?? t.watch.somebody)} />}
      </div>
      <span>
        {t.play.board(id)}
        {board?.bot && <BotMark />}
        {board?.chess960 && <i>960</i>}
      </span>
      <span class="faint">
        <span ref={move} />
        {players !== null && players > 0 && <span>{t.watch.players(players)}</span>}
      </span>
    </Link>
  );
}

/** ripple lets a ring grow on a tile from where a move went. */
function ripple(tile: HTMLElement, to: number | undefined): void {
  if (reducedMotion() || to === undefined) return;
  const ring = document.createElement("i");
  ring.className = "ring";
  ring.style.left = `${((to & 7) + 0.5) * 12.5}%`;
  ring.style.top = `${(7.5 - (to >> 3)) * 12.5}%`;
  tile.append(ring);
  ring.animate([{ transform: "scale(0.2)", opacity: 1 }, { transform: "scale(2.2)", opacity: 0 }], { duration: 900, easing: "ease-out" }).onfinish = () => ring.remove();
}

/** looks asks for the games of the tiles on show, one after the other, again and again. */
const looks = {
  asked: new Map<string, (g: Game) => void>(),
  timer: 0 as ReturnType<typeof setInterval> | 0,
  of(id: string, tell: (g: Game) => void): () => void {
    looks.asked.set(id, tell);
    looks.timer ||= setInterval(looks.next, lookEvery);
    return () => {
      looks.asked.delete(id);
      if (looks.asked.size > 0) return;
      clearInterval(looks.timer as number);
      looks.timer = 0;
    };
  },
  next(): void {
    const [first] = looks.asked;
    if (!first || document.visibilityState !== "visible") return;
    looks.asked.delete(first[0]);
    looks.asked.set(...first); // the last now
    api.game(first[0]).then((g) => looks.asked.get(first[0])?.(g), () => {});
  },
};

// The wall: fifty live boards at a time, each in a place of its own.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type Game } from "../api";
import { session, watcher } from "../app";
import { useStore } from "../session/store";
import { reducedMotion, settings } from "../settings";
import { useScheme } from "../style/ink";
import { t } from "../texts";
import { Icon } from "../ui/Icon";
import { Link } from "../ui/Link";
import { Painter } from "../wall/painter";
import { Places } from "../wall/places";
import { because } from "../words";

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
    const settle = () => places.settle(watcher.boards) && set((n) => n + 1);
    settle();
    return watcher.tick.subscribe(settle);
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
    const tiles = [...wall.current!.querySelectorAll<HTMLElement>("a")];
    const i = tiles.indexOf(document.activeElement as HTMLElement);
    const columns = getComputedStyle(wall.current!).gridTemplateColumns.split(" ").length;
    const by: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    if (i < 0 || !(e.key in by)) return;
    tiles[i + by[e.key]]?.focus();
    e.preventDefault();
  };

  return (
    <div class="watch">
      <header class="view-head">
        <div>
          <h1>{t.watch.title}</h1>
          <p class="faint">
            {t.watch.lead} <Link href="/finished">{t.finished.title}</Link>
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
          {shown.map((id, i) => (id === null ? <i key={`free ${i}`} class="tile free" /> : <Tile key={id} id={id} painter={painter} />))}
        </div>
      )}
    </div>
  );
}

function Tile({ id, painter }: { id: string; painter: Painter }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const tile = useRef<HTMLDivElement>(null);
  const move = useRef<HTMLSpanElement>(null);
  const [game, setGame] = useState<Game | null>(null);
  const [gone, setGone] = useState(false);
  useLayoutEffect(() => {
    // Painted before the browser shows the tile: it is never blank.
    const side = 8 * Math.max(12, Math.round((canvas.current!.clientWidth * Math.min(2, devicePixelRatio)) / 8));
    canvas.current!.width = canvas.current!.height = side;
    painter.show(id, canvas.current, (b) => {
      if (b.ply) move.current!.textContent = t.watch.move(Math.ceil(b.ply / 2));
      setGone(b.gone > 0);
      if (!reducedMotion()) tile.current!.animate([{ boxShadow: "0 0 0 3px #eeb240" }, { boxShadow: "0 0 0 3px transparent" }], 700);
    });
    return () => painter.show(id, null);
  }, [id]);
  useEffect(() => looks.of(id, setGame), [id]);
  useEffect(() => {
    if (gone) api.game(id).then((g) => (g.result ? setGame(g) : watcher.drop(id)), () => watcher.drop(id)); // without a result it is asleep
  }, [gone]);
  const board = watcher.boards.get(id);
  const players = game && new Set(game.moves.map((m) => m.session)).size;
  const score = gone && game?.result && { white: "1–0", black: "0–1", draw: "½–½" }[game.result.winner];
  return (
    <Link class={gone ? "tile gone" : "tile"} href={`/watch/${id}`} data-board={id}>
      <div ref={tile}>
        <canvas ref={canvas} aria-hidden="true" />
        {score && <b class="score">{score}</b>}
      </div>
      <span>
        {t.play.board(id)}
        {board?.chess960 && <i>960</i>}
      </span>
      <span class="faint">
        <span ref={move} />
        {players !== null && players > 0 && <span>{t.watch.players(players)}</span>}
      </span>
    </Link>
  );
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

// The wall: fifty live boards at a time, the busiest first.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { session, watcher } from "../app";
import { useStore } from "../session/store";
import { settings } from "../settings";
import { useScheme } from "../style/ink";
import { t } from "../texts";
import { Icon } from "../ui/Icon";
import { Link } from "../ui/Link";
import { Painter } from "../wall/painter";
import { because } from "../words";

const perPage = 50;
const resort = 2500; // ms between two sorts: boards that move all the time cannot be watched

type Filter = "all" | "standard" | "chess960";
const filters: [Filter, string][] = [
  ["all", t.watch.all],
  ["standard", t.watch.standard],
  ["chess960", t.watch.chess960],
];

/** useOrder returns the boards, busiest first, sorted again every few seconds. */
function useOrder(): string[] {
  const [order, setOrder] = useState<string[]>([]);
  useEffect(() => {
    const sort = () =>
      setOrder((before) => {
        const next = watcher.ranked();
        return next.length === before.length && next.every((id, i) => id === before[i]) ? before : next;
      });
    sort();
    const timer = setInterval(sort, resort);
    let known = watcher.boards.size;
    const off = watcher.tick.subscribe(() => {
      if (watcher.boards.size === known) return;
      known = watcher.boards.size; // boards have come or gone: show it at once
      sort();
    });
    return () => {
      clearInterval(timer);
      off();
    };
  }, []);
  return order;
}

export function Watch() {
  const { link } = useStore(session.status);
  const state = useStore(watcher.state);
  const theme = useStore(settings).theme;
  const scheme = useScheme();
  const [filter, setFilter] = useState<Filter>("all");
  const [page, setPage] = useState(0);
  const order = useOrder();
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
    watcher.watch({ kind: "summary", standard: filter === "standard", chess960: filter === "chess960" });
  }, [filter]);
  useEffect(() => painter.repaint(), [theme, scheme]);

  const pages = Math.max(1, Math.ceil(order.length / perPage));
  const at = Math.min(page, pages - 1);
  const shown = order.slice(at * perPage, (at + 1) * perPage);

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
          <p class="faint">{t.watch.lead}</p>
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
          {shown.map((id) => (
            <Tile key={id} id={id} painter={painter} />
          ))}
        </div>
      )}
    </div>
  );
}

function Tile({ id, painter }: { id: string; painter: Painter }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const side = 8 * Math.max(12, Math.round((canvas.current!.clientWidth * Math.min(2, devicePixelRatio)) / 8));
    canvas.current!.width = canvas.current!.height = side;
    painter.show(id, canvas.current);
    return () => painter.show(id, null);
  }, [id]);
  const board = watcher.boards.get(id);
  return (
    <Link class="tile" href={`/watch/${id}`}>
      <canvas ref={canvas} aria-hidden="true" />
      <span>
        {t.play.board(id)}
        {board?.chess960 && <i>960</i>}
      </span>
    </Link>
  );
}

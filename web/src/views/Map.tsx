// Every board at a glance, on one canvas: zoom, move, open one.

import { useEffect, useRef, useState } from "preact/hooks";
import { go, watcher } from "../app";
import { useStore } from "../session/store";
import { reducedMotion, settings } from "../settings";
import { useScheme } from "../style/ink";
import { t } from "../texts";
import { IconButton } from "../ui/Icon";
import { Link } from "../ui/Link";
import { WorldMap } from "../wall/map";
import { because } from "../words";

const tap = 6; // pixels that a finger may move and still tap

export function Map() {
  const state = useStore(watcher.state);
  const theme = useStore(settings).theme;
  const scheme = useScheme();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useRef<WorldMap | null>(null);
  const [said, say] = useState("");
  const [count, setCount] = useState(0);

  useEffect(() => {
    document.title = `${t.map.title} · ${t.name}`;
    const m = (map.current = new WorldMap(canvas.current!, watcher.boards, reducedMotion));
    (window as any).wambleMap = m;
    const off = watcher.tick.subscribe(m.soon);
    const counting = setInterval(() => setCount(watcher.boards.size), 500);
    const sized = new ResizeObserver(() => m.resize());
    sized.observe(canvas.current!);
    const leave = handle(box.current!, m);
    watcher.watch({ kind: "summary", standard: false, chess960: false });
    return () => {
      off();
      leave();
      clearInterval(counting);
      sized.disconnect();
      m.stop();
      watcher.stop();
    };
  }, []);
  useEffect(() => map.current?.redraw(true), [theme, scheme]);

  const zoom = (factor: number) => map.current!.zoom(factor);
  const all = () => {
    map.current!.camera.all();
    map.current!.redraw();
  };
  const onKeyDown = (e: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const m = map.current!;
    if (e.key in steps) {
      const id = m.step(...steps[e.key]);
      const b = id === null ? undefined : watcher.boards.get(id);
      if (b) say(`${t.play.board(id!)}, ${t.watch.move(Math.max(1, Math.ceil(b.ply / 2)))}, ${t.watch.toMove(b.fen.split(" ")[1] === "b" ? t.play.black : t.play.white)}`);
    } else if (e.key === "Enter" && m.cursor) go(`/watch/${m.cursor}`);
    else if (e.key === "+" || e.key === "=") zoom(1.5);
    else if (e.key === "-") zoom(1 / 1.5);
    else if (e.key === "0") all();
    else return;
    e.preventDefault();
  };

  return (
    <div class="watch">
      <header class="view-head">
        <div>
          <h1>{t.map.title}</h1>
          <p class="faint">{t.map.lead}</p>
        </div>
        <span class="faint" data-boards={count}>
          {t.map.boards(count)}
        </span>
        <span>
          <IconButton name="minus" label={t.map.out} onClick={() => zoom(1 / 1.5)} />
          <IconButton name="plus" label={t.map.in} onClick={() => zoom(1.5)} />
          <IconButton name="whole" label={t.map.all} onClick={all} />
        </span>
        <Link href="/watch">{t.watch.back}</Link>
      </header>
      {state === "refused" && <p class="card">{`${t.watch.refused} ${because(watcher.refusal)}.`}</p>}
      <div ref={box} class="map" role="application" tabIndex={0} aria-label={t.map.label} onKeyDown={onKeyDown}>
        <canvas ref={canvas} aria-hidden="true" />
      </div>
      <p class="map-said" role="status">
        {said}
      </p>
    </div>
  );
}

/** handle moves and zooms the map by mouse and fingers, and opens the board that is tapped. */
function handle(box: HTMLElement, map: WorldMap): () => void {
  const down = new globalThis.Map<number, [number, number]>();
  let travelled = 0;
  const at = (e: MouseEvent): [number, number] => {
    const b = box.getBoundingClientRect();
    return [e.clientX - b.left, e.clientY - b.top];
  };
  const listeners: Record<string, (e: any) => void> = {
    wheel(e: WheelEvent) {
      e.preventDefault();
      map.camera.zoom(1.0015 ** -e.deltaY, ...at(e));
      map.redraw();
    },
    pointerdown(e: PointerEvent) {
      if (down.size === 0) travelled = 0;
      down.set(e.pointerId, at(e));
      box.setPointerCapture(e.pointerId);
    },
    pointermove(e: PointerEvent) {
      const before = down.get(e.pointerId);
      if (!before) return;
      const now = at(e);
      const other = [...down].find(([id]) => id !== e.pointerId)?.[1];
      travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (other) {
        const apart = (p: [number, number]) => Math.max(1, Math.hypot(p[0] - other[0], p[1] - other[1]));
        map.camera.zoom(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      }
      if (travelled > tap) map.camera.pan((now[0] - before[0]) / down.size, (now[1] - before[1]) / down.size);
      down.set(e.pointerId, now);
      map.redraw();
    },
    pointerup(e: PointerEvent) {
      if (!down.delete(e.pointerId) || travelled > tap || down.size > 0) return;
      const id = map.boardAt(...at(e));
      if (id !== null) go(`/watch/${id}`);
    },
    pointercancel(e: PointerEvent) {
      down.delete(e.pointerId);
    },
  };
  for (const [name, f] of Object.entries(listeners)) box.addEventListener(name, f, { passive: false });
  return () => {
    for (const [name, f] of Object.entries(listeners)) box.removeEventListener(name, f);
  };
}

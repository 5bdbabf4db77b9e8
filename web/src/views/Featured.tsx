// The board where something happens, shown large on the wall.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, gameSince } from "../api";
import { watcher } from "../app";
import { moversOf } from "../movers";
import type { WatchedBoard } from "../session/watch";
import { t } from "../texts";
import { BotMark } from "../ui/Icon";
import { Link } from "../ui/Link";
import { Thinks } from "../ui/Name";
import { coloursNow, paint } from "../wall/paint";
import { happeningOf, type Scene, Spotlight } from "../wall/spotlight";
import { resultOf } from "./Result";
import { usePolledGame } from "./useGame";

const lookEvery = 1_000; // ms
const crowdsEvery = 3_000; // ms between two requests for what most watch
const looksAgain = [2_000, 5_000]; // ms until a game that was not over is asked for again: its last move may not be stored yet
const maxAsked = 4; // boards that are gone and asked for at a time, and as many again later: where more end, one of them will do

/** useSpotlight follows the wall, and returns the board to show. */
function useSpotlight(): Scene | null {
  const [scene, set] = useState<Scene | null>(null);
  useEffect(() => {
    const light = new Spotlight();
    const known = new Map<string, string>();
    let frame = 0;
    const show = () => light.shown && set(light.shown);
    let asked = 0;
    let later = 0;
    let left = false; // the page
    /** leave asks what became of a board that is gone: its game is over, or its player has left. */
    const leave = async (id: string, { ply, version }: WatchedBoard) => {
      if (asked === maxAsked) return;
      asked++;
      let game = await gameSince(id, version);
      asked--;
      if (game && !game.result && later < maxAsked) {
        later++;
        for (const pause of looksAgain) {
          await new Promise((done) => setTimeout(done, pause));
          if (left) return;
          game = await api.game(id).catch(() => null);
          if (!game || game.result) break;
        }
        later--;
      }
      if (left) return;
      if (game?.result && light.happens({ id, what: "end", at: performance.now(), ply })) show();
    };
    const follow = () => {
      frame = 0;
      for (const [id, b] of watcher.boards) {
        const name = b.fen + b.gone;
        const before = known.get(id);
        if (before === name) continue;
        known.set(id, name);
        if (before === undefined && light.shown) continue; // it was there before we came
        if (b.gone) void leave(id, b);
        else if (light.happens({ id, what: happeningOf(before, b.fen), at: performance.now(), ply: b.ply })) show();
      }
      for (const id of known.keys()) if (!watcher.boards.has(id)) known.delete(id);
    };
    const soon = () => (frame ||= requestAnimationFrame(follow));
    soon();
    const off = watcher.tick.subscribe(soon);
    const timer = setInterval(() => light.look(performance.now()) && show(), lookEvery);
    const crowds = setInterval(async () => {
      const { watched } = document.visibilityState === "visible" ? await api.live().catch(() => ({ watched: [] })) : { watched: [] };
      for (const { board, watchers } of watched ?? []) {
        const b = watcher.boards.get(String(board));
        if (b && !b.gone && light.watched({ id: String(board), at: performance.now(), ply: b.ply, watchers })) show();
      }
    }, crowdsEvery);
    return () => {
      left = true;
      clearInterval(crowds);
      off();
      cancelAnimationFrame(frame);
      clearInterval(timer);
    };
  }, []);
  return scene;
}

export function Featured({ colours }: { colours: string }) {
  const scene = useSpotlight();
  const canvas = useRef<HTMLCanvasElement>(null);
  const board = scene && watcher.boards.get(scene.id);
  const game = usePolledGame(scene?.id, board?.gone ? "gone" : "");
  const fen = game?.result ? game.fen : (board?.fen ?? game?.fen);
  const lastMove = board?.lastMove ?? null;
  useEffect(() => {
    const c = canvas.current;
    if (!c || !fen) return;
    c.width = c.height = 8 * Math.round((c.clientWidth * Math.min(2, devicePixelRatio)) / 8);
    c.dataset.fen = fen;
    paint(c, { fen, lastMove: game?.result ? null : lastMove }, coloursNow());
  }, [fen, colours, scene?.id]);
  const turn = fen?.split(" ")[1] === "b" ? t.play.black : t.play.white;
  const players = game && moversOf(game.moves).length;
  return (
    <section class="featured" aria-label={t.watch.featured} data-what={scene?.what} data-board={scene?.id}>
      {scene && (
        <>
          <Link href={`/watch/${scene.id}`} aria-label={t.play.board(scene.id)} tabIndex={-1}>
            <canvas ref={canvas} aria-hidden="true" />
          </Link>
          <h2>
            <Link href={`/watch/${scene.id}`}>{t.play.board(scene.id)}</Link>
            <span class={game?.result || scene.what === "check" ? "what" : ""}>{game?.result ? resultOf(game.result) : scene.what === "check" ? `${t.play.check}!` : scene.watchers ? t.live.watchers(scene.watchers) : t.watch.toMove(turn)}</span>
          </h2>
          <p class="faint">
            {board && <span>{t.watch.move(Math.max(1, Math.ceil(board.ply / 2)))}</span>}
            {board?.bot && <BotMark />}
            {players !== null && players > 0 && <span>{t.watch.players(players)}</span>}
          </p>
          <Thinks game={board?.gone ? null : game} />
        </>
      )}
    </section>
  );
}

// A player's name; a guest has a number, and a colour by which one knows it again.

import type { ComponentChildren } from "preact";
import type { Game, GameMove, Who } from "../api";
import { moversOf } from "../movers";
import { language, t } from "../texts";
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

/** nameOf is the name of a player in plain text; undefined when they are not known. */
export function nameOf({ handle, session }: Who): string | undefined {
  return handle ?? (session ? t.name_.guest(String(session)) : undefined);
}

const gap = "\ufffc"; // where elements come into a text

/** Around is a text around elements, which stand where its language wants them. */
function Around({ text, children }: { text(gap: string): string; children: ComponentChildren }) {
  const [before, after] = text(gap).split(gap);
  return (
    <>
      {before}
      {children}
      {after}
    </>
  );
}

const named = 3; // players whose names are told; the others are counted

/** Movers says who has moved in a game: who moved last comes first. */
export function Movers({ moves }: { moves: readonly GameMove[] }) {
  const all = moversOf(moves);
  const told = all.slice(0, named);
  const others = all.length - told.length;
  if (all.length === 0) return null;
  const list = new Intl.ListFormat(language).formatToParts([...told.map((w) => nameOf(w)!), ...(others ? [t.game.more(others)] : [])]);
  let next = 0;
  return (
    <span class="movers">
      <Around text={(who) => t.game.movers(all.length, who)}>
        {list.map(({ type, value }) => {
          const w = type === "element" ? told[next++] : undefined;
          return w ? <Name handle={w.handle ?? ""} id={w.session ?? 0} bot={w.bot} /> : value;
        })}
      </Around>
    </span>
  );
}

/** Thinks is a line that says who thinks about the next move of a game; without anybody it is empty. */
export function Thinks({ game }: { game: Game | null }) {
  const holder = game?.holder;
  return (
    <p class="faint thinks">
      {game?.status === "RESERVED" && (
        <>
          <i class="pulse" aria-hidden="true" />
          <span>
            <Around text={t.watch.thinks}>{holder ? <Name handle={holder.handle ?? ""} id={holder.session ?? 0} bot={holder.bot} /> : t.watch.somebody}</Around>
          </span>
        </>
      )}
    </p>
  );
}

// The two rankings, of people and of programs, with the player's own row even when it is on another page.

import { useEffect, useState } from "preact/hooks";
import { session } from "../app";
import { Piece } from "../board/PieceDefs";
import { useStore } from "../session/store";
import { rated, standing } from "../standing";
import { t } from "../texts";
import { Icon } from "../ui/Icon";
import { Name } from "../ui/Name";
import { type Int, intField, type LeaderboardRow, type Packet } from "../wire";

const perPage = 10;
const every = 6000; // ms; the server makes a new ranking every 5 s
const orders = [
  { type: 1, season: 0, text: t.you.byScore },
  { type: 1, season: 1, text: t.you.bySeason }, // the present month
  { type: 2, season: 0, text: t.you.byRating },
];

interface Row {
  rank: number;
  id: Int; // of the session
  handle: string;
  score: number;
  rating: number;
  games: number;
  bot: boolean;
  self: boolean;
  team: string; // "w", "b", or "" without teams
}

/** Teams is how the two teams of a season stand. */
interface Teams {
  own: string; // "w" or "b"
  points: number[]; // White's and Black's
  rows: string; // a letter for each
}

function teamsOf(p: Packet): Teams | null {
  const [own, white, black, rows] = p.ext.text("leaderboard.teams")?.split(" ") ?? [];
  return own ? { own, points: [Number(white), Number(black)], rows: rows ?? "" } : null;
}

const teamName = (team: string) => (team === "w" ? t.play.white : t.play.black);

/** rowsOf returns the rows of a page. The ranking may be older than the player's handle: their own row shows the handle of their session. */
function rowsOf(p: Packet, rows: readonly LeaderboardRow[], me: number, handle: string): Row[] {
  const bots = Number(p.ext.int("leaderboard.bots") ?? 0); // a bit for each row
  const teams = teamsOf(p);
  const list = rows.map((r, i) => ({
    team: teams?.rows[i] ?? "",
    rank: r.rank,
    id: r.session_id,
    handle: r.handle || (r.rank === me ? handle : ""),
    score: r.score,
    rating: r.rating,
    games: r.games,
    bot: ((bots >> i) & 1) === 1,
    self: r.rank === me,
  }));
  const rank = p.ext.int("leaderboard.self.rank");
  if (rank === undefined || list.some((r) => r.self)) return list;
  const own = {
    rank,
    id: p.ext.int("leaderboard.self.session_id") ?? 0,
    handle,
    score: p.ext.double("leaderboard.self.score") ?? 0,
    rating: p.ext.double("leaderboard.self.rating") ?? 0,
    games: p.ext.int("leaderboard.self.games_played") ?? 0,
    bot: false,
    self: true,
    team: teams?.own ?? "",
  };
  return [...list, own];
}

/** Leaderboard is the ranking of people, or that of programs: that is there when there are some. */
export function Leaderboard({ bots = false }: { bots?: boolean }) {
  const { link, token } = useStore(session.status);
  const now = useStore(standing);
  const [order, setOrder] = useState(orders[0]);
  const [page, setPage] = useState(0);
  const [view, setView] = useState<{ rows: Row[]; total: number; teams: Teams | null } | "failed" | null>(null);

  const [look, setLook] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setLook((n) => n + 1), every);
    return () => clearInterval(timer);
  }, []);

  useEffect(() => {
    if (link !== "online") return;
    const request = {
      name: "GET_LEADERBOARD",
      body: { type: order.type, limit: perPage },
      ext: [intField("leaderboard.page_index", page), ...(order.season ? [intField("leaderboard.season", order.season)] : []), ...(bots ? [intField("leaderboard.bots", 1)] : [])],
    } as const;
    session.caller.ask(request).then(
      (p) => {
        const { rows, self_rank } = p.message.body;
        setView({ rows: rowsOf(p, rows, self_rank, now?.handle ?? ""), total: p.ext.int("leaderboard.total_count") ?? rows.length, teams: teamsOf(p) });
      },
      () => setView("failed"),
    );
  }, [order, page, link, token, look, now?.score, now?.handle]);

  const pages = view && view !== "failed" ? Math.max(1, Math.ceil(view.total / perPage)) : 1;
  const id = bots ? "programs" : "leaderboard";
  if (bots && (!view || view === "failed" || (view.total === 0 && order === orders[0]))) return null;
  return (
    <section class={bots ? "card leaderboard programs" : "card leaderboard"} aria-labelledby={id}>
      <header>
        <h2 id={id}>{bots ? t.you.programs : t.you.leaderboard}</h2>
        <div class="segments" role="group" aria-label={t.you.by}>
          {orders.map((o) => (
            <button key={o.text} type="button" aria-pressed={order === o} onClick={() => (setOrder(o), setPage(0))}>
              {o.text}
            </button>
          ))}
        </div>
      </header>
      {view && view !== "failed" && view.teams && (
        <p class="teams" data-team={view.teams.own}>
          <Piece piece="K" /> <b>{t.play.white}</b> {view.teams.points[0].toFixed(1)} · <Piece piece="k" /> <b>{t.play.black}</b> {view.teams.points[1].toFixed(1)}
          <br />
          {t.you.team(teamName(view.teams.own))}
        </p>
      )}
      {view === "failed" ? (
        <p class="faint">{t.you.failed}</p>
      ) : !view ? (
        <p class="faint">…</p>
      ) : view.rows.length === 0 ? (
        <p class="faint">{t.you.noRows}</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">
                <abbr title={t.play.rank}>{t.you.rankSign}</abbr>
              </th>
              {[t.you.player, t.play.score, t.play.rating, t.you.games].map((h) => (
                <th key={h} scope="col">
                  {h}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {view.rows.map((r) => (
              <tr key={r.rank} class={r.self ? "self" : ""} data-self={r.self ? "yes" : undefined}>
                <td>{r.rank}</td>
                <td>
                  {r.team && (
                    <span class="team" role="img" aria-label={teamName(r.team)}>
                      <Piece piece={r.team === "w" ? "K" : "k"} />
                    </span>
                  )}
                  <Name handle={r.handle} id={r.id} bot={r.bot} />
                  {r.self && <em> ({t.you.self})</em>}
                </td>
                <td>{r.score.toFixed(1)}</td>
                <td>{rated(r.rating) ? Math.round(r.rating) : t.you.unrated}</td>
                <td>{r.games}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {pages > 1 && (
        <div class="pager">
          <button type="button" class="icon" aria-label={t.watch.previous} disabled={page === 0} onClick={() => setPage(page - 1)}>
            <Icon name="back" />
          </button>
          <span>{t.watch.page(page + 1, pages)}</span>
          <button type="button" class="icon" aria-label={t.watch.next} disabled={page >= pages - 1} onClick={() => setPage(page + 1)}>
            <Icon name="forward" />
          </button>
        </div>
      )}
    </section>
  );
}

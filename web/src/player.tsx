// The browser client of players.

import { render } from "preact";
import "./style/base.css";
import "./style/board.css";
import "./style/play.css";
import "./style/watch.css";
import "./style/you.css";
import { announce } from "./announcements";
import { begin, route, session, tell } from "./app";
import { PieceDefs } from "./board/PieceDefs";
import { useStore } from "./session/store";
import { sounds } from "./sound";
import { askStanding, paid, remember } from "./standing";
import { followTrail, hasten } from "./trail";
import { t } from "./texts";
import { lazy, loadAll } from "./ui/lazy";
import { Shell } from "./ui/Shell";
import { Nothing } from "./views/Nothing";
import { Play } from "./views/Play";
import { Terms } from "./views/Terms";
import { Notice } from "./wire";
import { because, points } from "./words";

const Watch = lazy(() => import("./views/Watch").then((m) => m.Watch));
const Focus = lazy(() => import("./views/Focus").then((m) => m.Focus));
const GamePage = lazy(() => import("./views/Game").then((m) => m.GamePage));
const Finished = lazy(() => import("./views/Finished").then((m) => m.Finished));
const Map = lazy(() => import("./views/Map").then((m) => m.Map));
const At = lazy(() => import("./views/At").then((m) => m.At));
const Embed = lazy(() => import("./views/Embed").then((m) => m.Embed));
const Trail = lazy(() => import("./views/Trail").then((m) => m.Trail));
const You = lazy(() => import("./views/You").then((m) => m.You));

function App() {
  const r = useStore(route);
  if (r.view === "embed") {
    return (
      <>
        <PieceDefs />
        <Embed board={r.board} />
      </>
    );
  }
  return (
    <>
      <PieceDefs />
      <Shell>
        <Terms />
        {r.view === "play" && <Play />}
        {r.view === "watch" && <Watch />}
        {r.view === "focus" && <Focus board={r.board} key={r.board} />}
        {r.view === "game" && <GamePage board={r.board} key={r.board} />}
        {r.view === "you" && <You />}
        {r.view === "trail" && <Trail />}
        {r.view === "finished" && <Finished />}
        {r.view === "map" && <Map />}
        {r.view === "at" && <At time={r.time} />}
        {r.view === "lost" && <Nothing text={t.lost.text} />}
      </Shell>
    </>
  );
}

/** released is what the server said last about a board that was taken from the player: shortly before or after it shows them another. */
let released = { board: "", why: "" };
const releasedWait = 300; // ms

function gone(board: string): string {
  const why = released.board === board ? released.why : "";
  if (why.includes("ended")) return t.play.endedBoard(board);
  return why.includes("too long") ? t.play.lapsedBoard(board) : t.play.lostBoard(board);
}

session.on((h) => {
  switch (h.kind) {
    case "played": {
      const { board, san, piece, ply } = h.move;
      remember({ board, san, piece, ply, at: Date.now() });
      askStanding();
      break;
    }
    case "refused": {
      tell(t.play.refused(h.move.san, h.move.board, because(h.why.reason)), "bad");
      break;
    }
    case "renewed":
      tell(t.play.renewed);
      break;
    case "switched":
      if (!h.moved && h.from.id !== h.to.id && session.status.value.link === "online") setTimeout(() => tell(gone(String(h.from.id))), releasedWait);
      break;
    case "notice":
      if (h.type === Notice.potPayout) {
        paid(String(h.board), h.text);
        tell(t.notices.payout(String(h.board), points(h.text)), "good");
        sounds.win();
        hasten(String(h.board));
        askStanding(300);
      } else if (h.stays) announce(h.text, h.type === Notice.maintenance, h.stays);
      else if (h.type === Notice.maintenance) tell(t.notices.maintenance(h.text), "bad", true);
      else if (h.type === Notice.announcement) tell(t.notices.announcement(h.text), "info", true);
      else if (h.type === Notice.reservationReleased) {
        released = { board: String(h.board), why: h.text };
        setTimeout(() => String(session.status.value.board?.id) === String(h.board) && session.refresh(), releasedWait);
      }
      if (h.type === Notice.sessionExpired) tell(t.notices.expired(h.text), "bad");
  }
});

session.status.subscribe(({ link, caps }) => link === "online" && caps !== 0 && askStanding(400));

session.status.subscribe(({ link }) => link === "online" && session.caller.others && void loadAll());

if (route.value.view !== "embed") {
  begin();
  followTrail();
}
render(<App />, document.getElementById("app")!);

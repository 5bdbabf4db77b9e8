// The browser client of players.

import { render } from "preact";
import "./style/base.css";
import "./style/board.css";
import "./style/play.css";
import "./style/watch.css";
import "./style/you.css";
import { begin, route, session, tell } from "./app";
import { PieceDefs } from "./board/PieceDefs";
import { useStore } from "./session/store";
import { askStanding, remember } from "./standing";
import { t } from "./texts";
import { lazy } from "./ui/lazy";
import { Shell } from "./ui/Shell";
import { Play } from "./views/Play";
import { Terms } from "./views/Terms";
import { Notice } from "./wire";

const Watch = lazy(() => import("./views/Watch").then((m) => m.Watch));
const Focus = lazy(() => import("./views/Focus").then((m) => m.Focus));
const GamePage = lazy(() => import("./views/Game").then((m) => m.GamePage));
const You = lazy(() => import("./views/You").then((m) => m.You));

function App() {
  const r = useStore(route);
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
      </Shell>
    </>
  );
}

session.on((h) => {
  switch (h.kind) {
    case "played": {
      const { board, san, piece } = h.move;
      remember({ board, san, piece, at: Date.now() });
      if (san.endsWith("#")) tell(t.play.mate(board), "good");
      askStanding();
      break;
    }
    case "refused": {
      const { reason } = h.why;
      const why = t.reasons[reason] ?? t.reasons[/\d/.exec(reason)?.[0] ?? ""] ?? (reason || t.notAllowed);
      tell(t.play.refused(h.move.san, h.move.board, why), "bad");
      break;
    }
    case "renewed":
      tell(t.play.renewed);
      break;
    case "switched":
      if (!h.moved && session.status.value.link === "online") tell(t.play.lostBoard(String(h.from.id)));
      break;
    case "notice":
      if (h.type === Notice.potPayout) {
        tell(t.notices.payout(h.board, h.text), "good");
        askStanding(300);
      } else if (h.type === Notice.maintenance) tell(t.notices.maintenance(h.text), "bad");
      else if (h.type === Notice.announcement) tell(t.notices.announcement(h.text));
      else if (h.type === Notice.sessionExpired) tell(t.notices.expired(h.text), "bad");
  }
});

session.status.subscribe(({ link, caps }) => link === "online" && caps !== 0 && askStanding(400));

begin();
render(<App />, document.getElementById("app")!);

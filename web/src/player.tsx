// The browser client of players.

import { render } from "preact";
import "./style/base.css";
import "./style/board.css";
import "./style/play.css";
import { begin, route, session, tell } from "./app";
import { PieceDefs } from "./board/PieceDefs";
import { useStore } from "./session/store";
import { askStanding } from "./standing";
import { t } from "./texts";
import { Shell } from "./ui/Shell";
import { Play } from "./views/Play";
import { Notice } from "./wire";

function App() {
  const r = useStore(route);
  return (
    <>
      <PieceDefs />
      <Shell>{r.view === "play" && <Play />}</Shell>
    </>
  );
}

session.on((h) => {
  switch (h.kind) {
    case "refused": {
      const why = t.reasons[/\d/.exec(h.why.reason)?.[0] ?? ""] ?? h.why.message;
      tell(t.play.refused(h.move.uci, h.move.board, why), "bad");
      break;
    }
    case "renewed":
      tell(t.play.renewed);
      break;
    case "switched":
      if (!h.moved && session.status.value.link === "online") tell(t.play.lostBoard(String(h.from.id)));
      break;
    case "notice":
      if (h.type === Notice.payout) {
        tell(t.notices.payout(h.text), "good");
        askStanding(300);
      } else if (h.type === Notice.maintenance) tell(t.notices.maintenance(h.text), "bad");
      else if (h.type === Notice.announcement) tell(t.notices.announcement(h.text));
      else if (h.type === Notice.expired) tell(t.notices.expired);
  }
});

session.status.subscribe(({ link }) => link === "online" && askStanding(400));

begin();
render(<App />, document.getElementById("app")!);

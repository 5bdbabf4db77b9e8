// The frame of every view: name, navigation, how many are here, messages.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, type Live, Missing } from "../api";
import { route, session, toasts, untell } from "../app";
import { useStore } from "../session/store";
import { t } from "../texts";
import { holds, refused } from "../words";
import { Announcements } from "./Announcements";
import { Icon, IconButton } from "./Icon";
import { Link } from "./Link";
import { SettingsDialog } from "./Settings";

const links = [
  { path: "/", icon: "board", text: t.nav.play, views: ["play"] },
  { path: "/watch", icon: "watch", text: t.nav.watch, views: ["watch", "focus", "game", "finished", "map"] },
  { path: "/you", icon: "you", text: t.nav.you, views: ["you", "trail"] },
];

export function Shell({ children }: { children: ComponentChildren }) {
  const { view } = useStore(route);
  const [open, setOpen] = useState(false);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        {t.nav.skip}
      </a>
      <header class="top">
        <Link class="brand" href="/" aria-label={t.name}>
          <svg viewBox="0 0 100 100" aria-hidden="true">
            <use href="#wn" />
          </svg>
          <b>{t.name}</b>
        </Link>
        <nav class="ways" aria-label={t.nav.label}>
          {links.map((w) => (
            <Link key={w.path} href={w.path} aria-current={w.views.includes(view) ? "page" : undefined}>
              <Icon name={w.icon} />
              {w.text}
            </Link>
          ))}
        </nav>
        <Crowd />
        <IconButton name="gear" label={t.settings.title} onClick={() => setOpen(true)} />
      </header>
      <LinkBanner />
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Announcements />
      <Toasts />
      {open && <SettingsDialog onClose={() => setOpen(false)} />}
    </div>
  );
}

/** Crowd shows how many players and watchers are here now. */
function Crowd() {
  const [live, setLive] = useState<Live | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let gone = false;
    const ask = async () => {
      try {
        if (document.visibilityState === "visible" && session.status.value.link !== "away") setLive(await api.live());
      } catch (e) {
        gone ||= e instanceof Missing; // a server without /api/live
      }
      if (!gone) timer = setTimeout(ask, 3000);
    };
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  const { link, board } = useStore(session.status);
  if (!live || link === "away") return <div class="crowd" />;
  return (
    <div class="crowd" role="group" aria-label={t.live.label}>
      <i class="pulse" aria-hidden="true" />
      <span data-live="players">{t.live.players(Math.max(live.players, board ? 1 : 0))}</span>
      <span data-live="watchers">{t.live.watchers(live.watchers)}</span>
      {live.moves_per_second !== undefined && <span class="pace">{t.live.pace(live.moves_per_second)}</span>}
    </div>
  );
}

function LinkBanner() {
  const { link, elsewhere, sending, refusal, board, held } = useStore(session.status);
  const { view } = useStore(route);
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (link !== "away") return;
    const timer = setTimeout(() => setLate(true), 600); // a handoff is shorter than this
    return () => clearTimeout(timer);
  }, [link]);
  if (elsewhere) {
    return (
      <div class="banner" role="alert">
        {t.link.elsewhere}
        <button type="button" onClick={() => session.start()}>
          {t.link.here}
        </button>
      </div>
    );
  }
  const shown = view === "play" && !board; // there the view itself says why
  const why = refusal ? refused(refusal) : held ? holds(held, sending !== null) : "";
  if (why ? shown : link !== "away" || !late) return null;
  return (
    <div class="banner bad" role="alert">
      {why || (sending ? t.link.awayMove : t.link.away)}
      <button type="button" onClick={() => session.caller.wake()}>
        {t.link.retry}
      </button>
    </div>
  );
}

function Toasts() {
  const list = useStore(toasts);
  return (
    <div class="toasts" role="log" aria-live="polite">
      {list.map((x) => (
        <div key={x.id} class={`toast ${x.kind}`}>
          {x.text}
          {x.stays && <IconButton name="close" label={t.close} onClick={() => untell(x.id)} />}
        </div>
      ))}
    </div>
  );
}

// The bar of announcements that stay.

import { useEffect, useState } from "preact/hooks";
import { type Announcement, announcements, close, left } from "../announcements";
import { useStore } from "../session/store";
import { language, t } from "../texts";
import { IconButton } from "./Icon";

export function Announcements() {
  const list = useStore(announcements);
  return (
    <div class="announcements" role="status" aria-live="polite">
      {list.map((a) => (
        <p key={a.id} class={a.urgent ? "urgent" : ""} data-announcement={a.id}>
          <span>{a.urgent ? t.notices.maintenance(a.text) : t.notices.announcement(a.text)}</span>
          {a.countdown && <Countdown of={a} />}
          <IconButton name="close" label={t.close} onClick={() => close(a.id)} />
        </p>
      ))}
    </div>
  );
}

/** Countdown is seen as it runs, and read aloud as it was when it appeared. */
function Countdown({ of }: { of: Announcement }) {
  const [said] = useState(() => left(of.end - Date.now(), language));
  const [now, setNow] = useState(said);
  useEffect(() => {
    const timer = setInterval(() => setNow(left(of.end - Date.now(), language)), 500);
    return () => clearInterval(timer);
  }, [of.end]);
  return (
    <>
      <time aria-hidden="true" data-left>
        {now}
      </time>
      <span class="unseen">{said}</span>
    </>
  );
}

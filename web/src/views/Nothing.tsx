// What is shown at an address without anything behind it.

import { useEffect } from "preact/hooks";
import { t } from "../texts";
import { Link } from "../ui/Link";

export function Nothing({ text }: { text: string }) {
  useEffect(() => {
    document.title = `${t.lost.title} · ${t.name}`;
  }, []);
  return (
    <div class="waiting nothing">
      <h1>{t.lost.title}</h1>
      <p class="faint">{text}</p>
      <div class="buttons">
        <Link class="main" href="/">
          {t.lost.play}
        </Link>
        <Link href="/watch">{t.lost.wall}</Link>
      </div>
    </div>
  );
}

// A view that is loaded when it is first shown.

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../texts";

const parts: (() => Promise<unknown>)[] = []; // that load a view

/** loadAll loads every view now, for a page whose machine may be gone later. */
export async function loadAll(): Promise<void> {
  if (!parts.length) return;
  await Promise.allSettled(parts.splice(0).map((load) => load()));
  document.documentElement.dataset.loaded = "all";
}

export function lazy<P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let loaded: FunctionComponent<P> | null = null;
  const get = () => load().then((v) => (loaded = v));
  parts.push(get);
  return function Lazy(props: P) {
    const [View, setView] = useState<FunctionComponent<P> | null>(() => loaded);
    useEffect(() => {
      if (!View) void get().then((v) => setView(() => v));
    }, []);
    return View ? <View {...props} /> : <p class="faint">{t.watch.loading}</p>;
  };
}

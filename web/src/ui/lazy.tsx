// A view that is loaded when it is first shown.

import type { FunctionComponent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { t } from "../texts";

export function lazy<P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let loaded: FunctionComponent<P> | null = null;
  return function Lazy(props: P) {
    const [View, setView] = useState<FunctionComponent<P> | null>(() => loaded);
    useEffect(() => {
      if (!View) void load().then((v) => setView(() => (loaded = v)));
    }, []);
    return View ? <View {...props} /> : <p class="faint">{t.watch.loading}</p>;
  };
}

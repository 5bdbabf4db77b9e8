// A Store is a value that calls its subscribers when it changes.

import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  private readers = new Set<(v: T) => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set(v: T): void {
    if (Object.is(v, this.current)) return;
    this.current = v;
    for (const r of [...this.readers]) r(v);
  }

  /** patch replaces some fields. */
  patch(some: Partial<T>): void {
    this.set({ ...this.current, ...some });
  }

  subscribe(reader: (v: T) => void): () => void {
    this.readers.add(reader);
    return () => this.readers.delete(reader);
  }
}

/** useStore makes a component follow a store. */
export function useStore<T>(store: Store<T>): T {
  const [value, set] = useState(store.value);
  useEffect(() => {
    set(() => store.value);
    return store.subscribe((v) => set(() => v));
  }, [store]);
  return value;
}

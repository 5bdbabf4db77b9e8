// Places gives each board of the wall a place that it keeps as long as it is
// there. A place that is free goes to the next board that comes.

export class Places {
  private places: (string | null)[] = [];
  private at = new Map<string, number>();

  /** settle gives boards that have come a place, and takes the places of those that are gone; it reports whether anything has changed. */
  settle(boards: { has(id: string): boolean; keys(): Iterable<string> }): boolean {
    let changed = false;
    const free: number[] = [];
    this.places.forEach((id, i) => {
      if (id !== null && !boards.has(id)) {
        this.at.delete(id);
        this.places[i] = null;
        changed = true;
      }
      if (this.places[i] === null) free.push(i);
    });
    for (const id of boards.keys()) {
      if (this.at.has(id)) continue;
      const place = free.shift() ?? this.places.length;
      this.places[place] = id;
      this.at.set(id, place);
      changed = true;
    }
    while (this.places.length > 0 && this.places[this.places.length - 1] === null) this.places.pop();
    return changed;
  }

  clear(): void {
    this.places = [];
    this.at.clear();
  }

  get length(): number {
    return this.places.length;
  }

  /** slice returns the boards of some places; null is a free place. */
  slice(from: number, to: number): (string | null)[] {
    return this.places.slice(from, to);
  }
}

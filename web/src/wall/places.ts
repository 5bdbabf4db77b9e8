// Places gives each board of the wall a place that it keeps as long as it is
// there, and has again if it comes back before another needs it, as a board does whose
// player has left. A board that is new gets the place that has been free for longest.

export class Places {
  private places: (string | null)[] = [];
  private at = new Map<string, number>();
  private left = new Map<number, string>(); // who was the last at a place that is free, in the order in which they left
  private before = new Map<string, number>(); // left, by board

  /** settle gives boards that have come a place, and takes the places of those that are gone; it reports whether anything has changed. */
  settle(boards: { has(id: string): boolean; keys(): Iterable<string> }): boolean {
    let changed = false;
    this.places.forEach((id, place) => {
      if (id === null || boards.has(id)) return;
      this.at.delete(id);
      this.places[place] = null;
      this.left.set(place, id);
      this.before.set(id, place);
      changed = true;
    });
    const fresh: string[] = [];
    for (const id of boards.keys()) {
      if (this.at.has(id)) continue;
      const place = this.before.get(id);
      if (place === undefined) fresh.push(id);
      else this.put(id, place);
      changed = true;
    }
    for (const id of fresh) this.put(id, this.free());
    while (this.places.length > 0 && this.places[this.places.length - 1] === null) this.places.pop();
    return changed;
  }

  private put(id: string, place: number): void {
    this.before.delete(this.left.get(place) ?? "");
    this.left.delete(place);
    while (this.places.length < place) this.places.push(null);
    this.places[place] = id;
    this.at.set(id, place);
  }

  private free(): number {
    for (const place of this.left.keys()) if (place < this.places.length) return place;
    return this.places.length;
  }

  clear(): void {
    this.places = [];
    this.at.clear();
    this.left.clear();
    this.before.clear();
  }

  get length(): number {
    return this.places.length;
  }

  /** slice returns the boards of some places; null is a free place. */
  slice(from: number, to: number): (string | null)[] {
    return this.places.slice(from, to);
  }
}

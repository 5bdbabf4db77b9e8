// The part of the map that is on the screen: pixels of the page from cells.

const most = 320; // pixels of a cell

export class Camera {
  x = 0; // cell at the left edge
  y = 0;
  scale = 1; // pixels of a cell
  private whole = 1; // scale at which everything is seen
  private side = 1;
  private width = 1;
  private height = 1;
  private fitted = true; // it shows everything, and goes on to when the map grows

  /** fit says how large the map and the screen are. */
  fit(side: number, width: number, height: number): void {
    Object.assign(this, { side, width, height });
    this.whole = Math.min(width, height) / side;
    if (this.fitted) this.all();
    else this.hold();
  }

  /** all shows everything. */
  all(): void {
    this.fitted = true;
    this.scale = this.whole;
    this.hold();
  }

  /** zoom enlarges by a factor; what is at a point of the screen stays there. */
  zoom(factor: number, atX = this.width / 2, atY = this.height / 2): void {
    const before = this.at(atX, atY);
    this.scale = Math.min(Math.max(most, this.whole), Math.max(this.whole, this.scale * factor));
    this.fitted = this.scale === this.whole;
    this.x = before[0] - atX / this.scale;
    this.y = before[1] - atY / this.scale;
    this.hold();
  }

  /** pan moves the map by pixels. */
  pan(dx: number, dy: number): void {
    this.x -= dx / this.scale;
    this.y -= dy / this.scale;
    this.hold();
  }

  /** show moves the map so that a cell is on the screen. */
  show(x: number, y: number): void {
    const columns = this.width / this.scale;
    const rows = this.height / this.scale;
    this.x = Math.min(x, Math.max(this.x, x + 1 - columns));
    this.y = Math.min(y, Math.max(this.y, y + 1 - rows));
    this.hold();
  }

  /** at is the cell, with fractions, at a point of the screen. */
  at(px: number, py: number): [x: number, y: number] {
    return [this.x + px / this.scale, this.y + py / this.scale];
  }

  private hold(): void {
    const within = (v: number, seen: number) => (seen >= this.side ? (this.side - seen) / 2 : Math.min(Math.max(0, v), this.side - seen));
    this.x = within(this.x, this.width / this.scale);
    this.y = within(this.y, this.height / this.scale);
  }
}

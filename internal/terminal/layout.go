package terminal

import (
	"wamble"
	"wamble/chess"
)

// The smallest screen on which a board fits.
const (
	minWidth  = 28
	minHeight = 14
)

// layout is the positions of the parts of the screen.
type layout struct {
	cellWidth, cellHeight int
	left, top             int // of the top left square
	panel                 int // first column of the panel beside the board; 0 if there is no panel
	panelWidth            int
	said                  int // rows for recent texts
}

// around is the rows above and below the board: title and announcement above; file letters,
// input line and keys below.
const around = 5

// layout returns the layout with the largest squares that fit.
func (m *Model) layout() layout {
	l := layout{cellWidth: 3, cellHeight: 1, left: 3, top: 2}
	for _, cell := range [][2]int{{7, 3}, {5, 2}} {
		if m.height >= 8*cell[1]+around+3 && m.width >= l.left+8*cell[0]+2 {
			l.cellWidth, l.cellHeight = cell[0], cell[1]
			break
		}
	}
	if column := l.left + 8*l.cellWidth + 3; m.width-column >= 22 {
		l.panel, l.panelWidth = column, min(m.width-column, 48)
	}
	l.said = min(m.height-8*l.cellHeight-around, 6)
	return l
}

// squareAt returns the square at a cell of the screen; NoSquare outside the board.
func (m *Model) squareAt(x, y int) chess.Square {
	l := m.layout()
	if x < l.left || y < l.top {
		return chess.NoSquare
	}
	file, row := (x-l.left)/l.cellWidth, (y-l.top)/l.cellHeight
	if file > 7 || row > 7 {
		return chess.NoSquare
	}
	return m.squareOf(file, row)
}

// squareOf returns the square at a column and row of the drawn board.
func (m *Model) squareOf(column, row int) chess.Square {
	if m.bottom() == chess.White {
		return chess.SquareAt(column, 7-row)
	}
	return chess.SquareAt(7-column, row)
}

// bottom returns the side at the bottom of the screen: the side to move, unless flipped.
func (m *Model) bottom() chess.Color {
	side := chess.White
	if b := m.held(); b != nil {
		side = b.Position.Turn()
	}
	if m.flipped {
		return side.Other()
	}
	return side
}

// The size of a small board of the wall, with its title and margins.
const (
	smallWidth  = 18
	smallHeight = 10
)

// wallSize returns how many columns and rows of small boards fit.
func (m *Model) wallSize() (columns, rows int) {
	return max(1, (m.width-1)/smallWidth), max(1, (m.height-5)/smallHeight)
}

// wallAt returns the number of the wall's board at a cell; 0 if there is none.
func (m *Model) wallAt(x, y int) wamble.BoardID {
	columns, rows := m.wallSize()
	column, row := (x-1)/smallWidth, (y-2)/smallHeight
	if x < 1 || y < 2 || column >= columns || row >= rows {
		return 0
	}
	page := m.wallPage()
	if i := row*columns + column; i < len(page) {
		return page[i]
	}
	return 0
}

// wallPage returns the boards on the screen: the page that has the chosen one.
func (m *Model) wallPage() []wamble.BoardID {
	order := m.Game.Wall.Order()
	columns, rows := m.wallSize()
	size := columns * rows
	from := m.chosenIndex(order) / size * size
	return order[from:min(from+size, len(order))]
}

// chosenIndex returns the index of the chosen board in order, or of the next one if it is
// missing.
func (m *Model) chosenIndex(order []wamble.BoardID) int {
	i := 0
	for i < len(order)-1 && order[i] < m.chosen {
		i++
	}
	return i
}

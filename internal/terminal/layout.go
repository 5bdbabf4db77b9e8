package terminal

import (
	"wamble"
	"wamble/chess"
)

// The smallest screen on which a board has room.
const (
	minWidth  = 28
	minHeight = 14
)

// layout is where things are.
type layout struct {
	cellWidth, cellHeight int
	left, top             int // of the square in the upper left corner
	panel                 int // column where the panel beside the board begins; 0: there is none
	panelWidth            int
	said                  int // rows for what was said
}

// Rows around the board: title and one for announcements above; letters, the line to type in and
// the keys below.
const around = 5

// layout finds the largest squares that fit.
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

// squareAt returns the square under a cell of the screen; NoSquare beside the board.
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

// squareOf returns the square of a column and a row as they are drawn.
func (m *Model) squareOf(column, row int) chess.Square {
	if m.bottom() == chess.White {
		return chess.SquareAt(column, 7-row)
	}
	return chess.SquareAt(7-column, row)
}

// bottom is the side that plays up the screen: the one to move, unless flipped.
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

// A small board of the wall, with its title and the space around it.
const (
	smallWidth  = 18
	smallHeight = 10
)

// wallSize is how many small boards fit beside and below each other.
func (m *Model) wallSize() (columns, rows int) {
	return max(1, (m.width-1)/smallWidth), max(1, (m.height-5)/smallHeight)
}

// wallAt returns the number of the board of the wall under a cell; 0 if there is none.
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

// wallPage returns the boards that are on the screen: the page with the chosen one.
func (m *Model) wallPage() []wamble.BoardID {
	order := m.Game.Wall.Order()
	columns, rows := m.wallSize()
	size := columns * rows
	from := m.chosenIndex(order) / size * size
	return order[from:min(from+size, len(order))]
}

// chosenIndex is where the chosen board is among all, or would be.
func (m *Model) chosenIndex(order []wamble.BoardID) int {
	i := 0
	for i < len(order)-1 && order[i] < m.chosen {
		i++
	}
	return i
}

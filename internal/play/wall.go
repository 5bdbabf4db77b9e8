package play

import (
	"fmt"
	"slices"

	"wamble"
)

// maxWall bounds the boards of a wall.
const maxWall = 4096

// Wall is the set of boards that the player watches.
type Wall struct {
	On    bool
	Focus wamble.BoardID // the only watched board; 0 for all
	// Boards has the received boards by number; Last is the one that changed last.
	Boards map[wamble.BoardID]*Board
	Last   wamble.BoardID
}

// Order returns the numbers of the boards, sorted.
func (w *Wall) Order() []wamble.BoardID {
	list := make([]wamble.BoardID, 0, len(w.Boards))
	for id := range w.Boards {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

func (g *Game) watching(m Watching) {
	g.Wall.On, g.Wall.Focus = true, m.Board
	if m.Board == 0 {
		g.say("You watch all boards. 'watch 12' watches one, 'stop' ends it.")
		return
	}
	g.say("You watch board %d. 'predict' predicts its next move, 'stop' ends it.", m.Board)
	g.do(AskPredictions{Board: m.Board})
}

func (g *Game) seen(m Seen) {
	w := &g.Wall
	if m.Reset || w.Boards == nil {
		w.Boards = map[wamble.BoardID]*Board{}
	}
	if m.Gone != 0 {
		delete(w.Boards, m.Gone)
		if m.Gone == w.Focus {
			g.say("The game on board %d is over, or nobody plays it any more.", m.Gone)
		}
	}
	b := m.Board
	if b == nil || len(w.Boards) >= maxWall && w.Boards[b.ID] == nil {
		return
	}
	before := w.Boards[b.ID]
	w.Boards[b.ID] = b
	if before != nil && samePlacement(before.Position, b.Position) {
		return
	}
	w.Last = b.ID
	g.do(News{change(before, b)})
	if b.ID == w.Focus && before != nil {
		g.do(AskPredictions{Board: b.ID})
	}
}

// change describes a change on a watched board; before may be nil.
func change(before, b *Board) string {
	if before != nil {
		if san, ok := before.moveTo(b); ok {
			who := before.Side()
			if b.Bot {
				who += ", a program,"
			}
			return fmt.Sprintf("Board %d: %s plays %s.", b.ID, who, san)
		}
	}
	text := fmt.Sprintf("Board %d: %s is to move, move %d.", b.ID, b.Side(), b.Position.FullmoveNumber())
	if last := b.LastMove(); last != "" {
		text += " " + last
	}
	return text
}

func (g *Game) watchEnded(m WatchEnded) {
	if g.Wall.On {
		g.Wall = Wall{}
		if m.Why != "" {
			g.say("Watching has ended: %s.", because(m.Why))
		} else {
			g.say("You watch no board any more.")
		}
	}
}

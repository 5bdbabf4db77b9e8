package schema

import (
	"maps"
	"slices"

	"wamble"
)

// BoardPage collects boards that are read with their moves: first the boards, then the runs of
// their moves in the order of plies, then the players of the moves. Decoding runs here is
// several times faster than reading the view moves.
type BoardPage struct {
	Boards []wamble.Board

	at     map[wamble.BoardID]int // index in Boards
	movers map[wamble.SessionID]mover
}

// mover is the player of a session, if it has one, and whether a bot plays it.
type mover struct {
	player wamble.PlayerID
	handle string
	rating float64
	bot    bool
}

// ScanBoard reads a board.
func (p *BoardPage) ScanBoard(scan Scan) error {
	b, err := ScanBoard(scan)
	if p.at == nil {
		p.at, p.movers = map[wamble.BoardID]int{}, map[wamble.SessionID]mover{}
	}
	p.at[b.ID] = len(p.Boards)
	p.Boards = append(p.Boards, b)
	return err
}

// ScanRun reads a run of moves. It skips the run of a board that is not in the page, because
// its game has ended meanwhile.
func (p *BoardPage) ScanRun(scan Scan) error {
	board, moves, err := ScanRun(scan)
	if err != nil {
		return err
	}
	i, known := p.at[board]
	if !known {
		return nil
	}
	b := &p.Boards[i]
	b.Moves = append(b.Moves, moves...)
	for i := range moves {
		p.movers[moves[i].Session] = mover{}
	}
	return nil
}

// Sessions returns the sessions that made the moves.
func (p *BoardPage) Sessions() []wamble.SessionID { return slices.Collect(maps.Keys(p.movers)) }

// ScanMover reads a session: its number, the number, handle and rating of its player, and
// whether it is a bot.
func (p *BoardPage) ScanMover(scan Scan) error {
	var id wamble.SessionID
	var m mover
	err := scan(&id, &m.player, &m.handle, &m.rating, &m.bot)
	p.movers[id] = m
	return err
}

// NameMovers writes the players into the moves.
func (p *BoardPage) NameMovers() {
	for i := range p.Boards {
		for j := range p.Boards[i].Moves {
			m := &p.Boards[i].Moves[j]
			who := p.movers[m.Session]
			m.Player, m.Handle, m.Rating, m.Bot = who.player, who.handle, who.rating, who.bot
		}
	}
}

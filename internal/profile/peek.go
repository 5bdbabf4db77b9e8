package profile

import (
	"wamble"
	"wamble/internal/board"
)

// Peek returns a board in memory in the form of the store, and the durable index behind which the board may be
// shown: Profile.Durable must reach the durable index first. Its holder is set only while they are here, and handles
// only for players in memory.
func (p *Profile) Peek(id wamble.BoardID) (b wamble.Board, durableIndex uint64, ok bool) {
	live := p.boards.Board(id)
	if live == nil {
		return wamble.Board{}, 0, false
	}
	b = wamble.Board{
		ID: id, Profile: p.cfg.Name, FEN: live.FEN(), Status: live.Status(), Variant: live.Variant(),
		Version: live.Version(),
		Created: p.clock.label(live.Created()), LastAssigned: p.clock.label(live.LastAssigned()),
		Moves: make([]wamble.Move, 0, live.Plies()),
	}
	for m := range live.Moves() {
		move := wamble.Move{Ply: m.Ply, UCI: m.Move.String(), Session: m.Session, At: p.clock.label(m.At)}
		if s := p.sessions.ByID(m.Session); s != nil && s.Identity() != nil {
			move.Handle, move.Rating = s.Identity().Handle(), s.Identity().Rating()
		}
		move.Bot = p.byBot(m)
		b.Moves = append(b.Moves, move)
	}
	b.Holder = p.presentHolder(live)
	return b, p.watermarks.newest, true
}

// presentHolder returns the reservation of a board whose holder is here, or nil.
func (p *Profile) presentHolder(b *board.Board) *wamble.Reservation {
	s := p.sessions.ByID(b.Holder())
	if s == nil || b.HolderAway() {
		return nil
	}
	r := &wamble.Reservation{Board: b.ID(), Profile: p.cfg.Name, Session: s.ID(), Bot: s.Bot()}
	if i := s.Identity(); i != nil {
		r.Key, r.Handle = i.Key(), i.Handle()
	}
	return r
}

// HandleOf returns the handle of a session's player, "" for a guest or a session that is not in memory.
func (p *Profile) HandleOf(id wamble.SessionID) string {
	if s := p.sessions.ByID(id); s != nil && s.Identity() != nil {
		return s.Identity().Handle()
	}
	return ""
}

// byBot reports whether a program made a move. For a program with an identity that is known only while its
// session is in memory.
func (p *people) byBot(m board.Move) bool {
	s := p.sessions.ByID(m.Session)
	return m.Bot || s != nil && s.Bot()
}

// Durable returns the durable index up to which everything may be shown.
func (p *Profile) Durable() uint64 { return p.watermarks.durable }

// HasBoard reports whether a board is in memory.
func (p *Profile) HasBoard(id wamble.BoardID) bool { return p.boards.Board(id) != nil }

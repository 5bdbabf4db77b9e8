package profile

import (
	"errors"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/session"
	"wamble/internal/share"
	"wamble/wire"
)

var (
	errNoBoard = &wamble.Denied{Code: wamble.UnknownBoard, Reason: "no board available for assignment", Blocking: true}
	errNoID    = &wamble.Denied{Code: wamble.Internal, Reason: "no number is left for a new board"}
)

// deniedOf returns the refusal that a player gets for an error.
func deniedOf(err error) *wamble.Denied {
	var denied *wamble.Denied
	switch {
	case errors.As(err, &denied):
		return denied
	case errors.Is(err, board.ErrNoBoard):
		return errNoBoard
	case errors.Is(err, board.ErrNoID):
		return errNoID
	}
	return &wamble.Denied{Code: wamble.Internal, Reason: "internal error"}
}

// assignBoard makes sure that a session holds a board. It returns the board, and the reservation that was revoked
// to free it, if any.
func (p *Profile) assignBoard(s *session.Session) (*board.Board, board.Released, error) {
	return p.assignBoardTo(s, board.Player{})
}

// assignBoardTo is assignBoard with more known of the player: the board they were offered, the one before the last, and
// the player whose move they have just answered.
func (p *Profile) assignBoardTo(s *session.Session, player board.Player) (*board.Board, board.Released, error) {
	player.Session, player.Identity = s.ID(), s.Identity() != nil
	player.Games, player.Chess960Games = int(s.Games().All), int(s.Games().Chess960)
	player.LeftBoard = s.LastBoard()
	player.Reach, player.Host = reachOf(s), s.Host()
	got, err := p.boards.Assign(p.clock.now, player, &p.frame)
	if errors.Is(err, board.ErrNoBoard) {
		got, err = p.reclaimBoard(s, player)
	}
	switch {
	case err != nil:
		p.stats.NoBoard++
		p.awaitBoard(s)
	case !got.Known:
		p.waitlist.remove(s.ID())
		s.BeginVisit(p.clock.now)
		p.stats.Deals.Given++
		p.stats.Deals.Own += one(got.Own)
		p.stats.Deals.Fresh += one(got.Fresh)
		p.stats.Deals.Same += one(got.Board.ID() == player.LeftBoard)
	}
	return got.Board, got.Taken, err
}

func one(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

// reassignBoard gives another board to a player who asks about one that they lost while they were silent: they
// could not be notified then, and an old client does not say hello again. A player who holds a board was
// notified.
func (p *Profile) reassignBoard(r *request, out *Output) {
	s := r.session
	if p.readOnly() || p.holds(s.ID()) {
		return
	}
	b, taken, err := p.assignBoard(s)
	p.sealFor(s, out)
	if err != nil {
		p.notify(s.Token(), r.h.Board, boardReleased, out)
		return
	}
	p.pushUpdate(s, b, out)
	p.revoked(taken, out)
}

// boardReleased tells a player that they no longer hold a board.
var boardReleased = wire.ServerNotification{
	Type: wire.NoticeReservationReleased, Text: wire.Text("your board was given back"),
}

// releasedWhy returns boardReleased with the reason, if the player should know it. Clients translate these
// words.
func releasedWhy(why board.ReleaseReason) wire.ServerNotification {
	n := boardReleased
	switch why {
	case board.TimedOut:
		n.Text = wire.Text("you held the board for too long, it was given back")
	case board.HostEnded:
		n.Text = wire.Text("the host has ended the game")
	}
	return n
}

// reclaimBoard finds a board for a session when all are held: that of an unconfirmed session, if there are many of
// these; otherwise the idlest board of the host with the most.
func (p *Profile) reclaimBoard(s *session.Session, player board.Player) (board.Assigned, error) {
	unconfirmed := p.sessions.Unconfirmed(s, p.scratch.holds)
	if player.Claims = unconfirmed == nil || !p.sessions.ManyFresh(p.boards.Options().MaxBoards); player.Claims {
		got, err := p.boards.Assign(p.clock.now, player, &p.frame)
		if err == nil || unconfirmed == nil {
			return got, err
		}
	}
	taken, _ := p.boards.Release(p.clock.now, unconfirmed.ID(), &p.frame)
	got, err := p.boards.Assign(p.clock.now, player, &p.frame)
	taken.Reason, got.Taken = board.TakenBack, taken
	return got, err
}

// makeRoom evicts sessions to admit one more from an address. It reports whether it has evicted any.
func (p *Profile) makeRoom(from wamble.Peer, out *Output) bool {
	const most = 16 // sessions restored meanwhile may exceed the limit
	n := 0
	for ; n < most; n++ {
		s := p.sessions.Yields(p.clock.now, from)
		if s == nil {
			break
		}
		lost, _ := p.boards.Leave(p.clock.now, s.ID(), &p.frame)
		p.sealFor(s, out)
		p.audience.spectators.Leave(s.ID())
		p.sessions.Evict(s, p.scratch.holds)
		p.revoked(lost, out)
	}
	return n > 0
}

// noteActivity records that a session has sent a packet from an address. For a session that only watches this
// is no activity on its board.
func (p *Profile) noteActivity(s *session.Session, from wamble.Peer) {
	if s.Host() == 0 {
		p.setHost(s, from)
	}
	s.SetStream(from.Stream())
	if p.sessions.NoteActivity(p.clock.now, s, &p.droppable) && !s.Watches() {
		p.boards.NoteActivity(p.clock.now, s.ID(), reachOf(s))
	}
}

// reachOf returns how a session is reached.
func reachOf(s *session.Session) board.Reach {
	switch {
	case s.Signs():
		return board.Stream
	case s.Stream():
		return board.Open
	}
	return board.Datagram
}

// connected reports whether a session has an open connection.
func (n *network) connected(s *session.Session) bool {
	home, ok := n.link.Home(s.Token())
	return ok && home.Stream()
}

// regain gives a player the board back that they lost by silence, if they ask about it and no other player
// has it.
func (p *Profile) regain(r *request) bool {
	if r.h.Board == 0 || p.readOnly() || p.boards.Former(r.session.ID()) != r.h.Board {
		return false
	}
	_, _, err := p.assignBoard(r.session)
	return err == nil
}

// setHost sets the host of a session that an earlier process has made.
func (p *Profile) setHost(s *session.Session, from wamble.Peer) {
	host := share.HostOf(from.IP())
	p.sessions.Place(s, host)
	p.boards.SetHost(s.ID(), host)
}

// isActive reports whether the player of a session has sent a packet recently.
func (p *Profile) isActive(s *session.Session) bool {
	return !s.Fresh() && p.clock.now.Sub(s.Seen()) < p.sessionOptions().Away
}

// holds reports whether a session holds a board.
func (p *pool) holds(id wamble.SessionID) bool { return p.boards.Held(id) != nil }

package profile

import (
	"wamble"
	"wamble/chess"
	"wamble/internal/board"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// view is a board as its holder is shown it.
type view struct {
	flags  wire.Flags
	fen    wire.Text
	fields wire.Ext
}

// show makes the view of a board, the same for SERVER_HELLO and BOARD_UPDATE. Its memory is valid until the
// next view. The fields are in the order of the protocol; those that the original lacks come last, first of
// them the number of the answered request, if it has one.
func (p *Profile) show(s *session.Session, b *board.Board, answers uint32) view {
	v := view{fields: p.scratch.fields[:0]}
	p.addSessionFields(&v, s, b)
	if b == nil {
		if place := p.waitlist.place(s.ID()); place > 0 {
			v.fields.AddInt(wire.KeyWaitPlace, place)
		}
		return v
	}
	fen := p.boards.FEN(b)
	p.scratch.fen = append(p.scratch.fen[:0], wire.ShortFEN(fen)...)
	v.fen = p.scratch.fen
	if from, to, ok := lastMove(b); ok {
		v.fields.AddInt(wire.KeyLastMoveFrom, int64(from))
		v.fields.AddInt(wire.KeyLastMoveTo, int64(to))
	}
	if answers != 0 {
		v.fields.AddInt(wire.KeyRequestSeq, int64(answers))
	}
	v.fields.AddString(wire.KeyBoardFEN, fen)
	v.fields.AddInt(wire.KeyBoardVersion, int64(b.Version()))
	if own := b.OwnMove(s.ID()); own != "" {
		v.fields.AddString(wire.KeyBoardOwnMove, own)
	}
	return v
}

// addSessionFields adds what a session may do, and since when it holds its board, if any.
func (p *Profile) addSessionFields(v *view, s *session.Session, b *board.Board) {
	caps := p.capsAt(s, b)
	if b != nil && caps&wire.MaySeeGameMode != 0 && b.Variant() >= 0 {
		v.flags = wire.FlagBoardIs960
	}
	v.fields.AddInt(wire.KeySessionCaps, int64(caps))
	if caps&wire.MayReadPredictions != 0 {
		v.fields.AddString(wire.KeyPredictionSource, wire.SourceTree)
	}
	if caps&wire.MayPredict != 0 {
		v.fields.AddInt(wire.KeyPredictionMaxPending, int64(p.audience.predictions.Options().MaxPending))
	}
	switch {
	case b == nil:
	case s.ID() == 0: // it is only an offer
		v.fields.AddInt(wire.KeyReservationReservedAt, p.clock.wall().Unix())
	case b.Holder() == s.ID():
		v.fields.AddInt(wire.KeyReservationReservedAt, p.clock.label(b.Reserved()).Unix())
	}
}

// lastMove returns the squares of a board's last move. ok is false if the piece is not on the target square
// of the notation: castling in Chess960.
func lastMove(b *board.Board) (from, to chess.Square, ok bool) {
	m := b.Last()
	if m == 0 {
		return 0, 0, false
	}
	from, to = m.From(), m.To()
	position := b.Position()
	return from, to, from != to && position.PieceAt(to).Kind != chess.None
}

// trailerSize is the size of a trailer without its fields: version and count, magic and length.
const trailerSize = 2 + 4

// fit drops the last fields until the packet has at most room bytes, the limit for an unproven address. The
// number of the request stays. A view that cannot fit stays whole: link holds it until the address is
// proven.
func (v *view) fit(room int) {
	if room >= wire.MaxPacket {
		return
	}
	size := wire.HeaderSize + len(v.fen) + trailerSize
	keep, number := 0, -1
	for i := range v.fields {
		if v.fields[i].Key == wire.KeyRequestSeq {
			number = i
			size += v.fields[i].Size()
		}
	}
	for i := range v.fields {
		f := &v.fields[i]
		if i != number {
			size += f.Size()
		}
		if size <= room && f.Key != wire.KeyLastMoveFrom {
			keep = i + 1
		}
	}
	switch {
	case keep == 0 && number >= 0 && wire.HeaderSize+len(v.fen)+trailerSize+v.fields[number].Size() <= room:
		v.fields = append(v.fields[:0], v.fields[number])
	case keep == 0:
	case number >= keep:
		v.fields = append(v.fields[:keep], v.fields[number])
	default:
		v.fields = v.fields[:keep]
	}
}

// answerHello answers with the board that a player holds; nil if none.
func (p *Profile) answerHello(r *request, s *session.Session, b *board.Board) {
	v := p.greet(r, s.Token(), s, b)
	p.noteShown(b, &v)
}

// greet sends SERVER_HELLO with a token.
func (p *Profile) greet(r *request, token wamble.Token, s *session.Session, b *board.Board) view {
	v := p.show(s, b, 0)
	if hosts := p.cfg.Network.ClusterEndpoints; hosts != "" && s.ID() != 0 {
		v.fields.AddString(wire.KeyClusterEndpoint, hosts)
	}
	p.addHomeHost(&v, r)
	v.fit(p.link.Room(r.id))
	h := wire.Header{Token: token, Board: idOf(b), Flags: r.h.Flags.Negotiate() | v.flags}
	link.Answer(p.link, r.id, h, wire.ServerHello{FEN: v.fen}, v.fields...)
	return v
}

// addHomeHost adds the host name of this machine to the answer of a request that another machine has forwarded.
func (p *Profile) addHomeHost(v *view, r *request) {
	self := p.transfers.node
	if self == 0 {
		return
	}
	if from, _ := p.link.Peer(r.id); from.Node == self || from.Node == 0 {
		return
	}
	if home := p.cfg.Network.Home(); home != "" {
		v.fields.AddString(wire.KeyClusterHome, home)
	}
}

// answerMove answers a move with the board that the player holds now.
func (p *Profile) answerMove(r *request, b *board.Board, played *board.Played) {
	v := p.show(r.session, b, r.h.Seq)
	p.addMoveTally(&v, r, played)
	p.addHomeHost(&v, r)
	v.fit(p.link.Room(r.id))
	h := wire.Header{Token: r.h.Token, Board: b.ID(), Flags: v.flags}
	link.Answer(p.link, r.id, h, wire.BoardUpdate{FEN: v.fen}, v.fields...)
	p.noteShown(b, &v)
}

// pushUpdate shows a player the board that they hold now, unrequested.
func (p *Profile) pushUpdate(s *session.Session, b *board.Board, out *Output) {
	v := p.show(s, b, 0)
	if len(v.fields) > wire.OldMaxFields && !p.link.ReadsAll(s.Token()) {
		v.fields = v.fields.Shorten(wire.OldMaxFields)
	}
	h := wire.Header{Token: s.Token(), Board: b.ID(), Flags: v.flags}
	packet, err := wire.Append(p.scratch.push[:0], h, wire.BoardUpdate{FEN: v.fen}, v.fields...)
	if err == nil {
		p.push(s.Token(), packet, out)
		p.noteShown(b, &v)
	}
}

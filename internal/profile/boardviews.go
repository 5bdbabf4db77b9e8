package profile

import (
	"encoding/json"
	"errors"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/board"
	"wamble/internal/pack"
	"wamble/internal/spectate"
)

// Spectators see the boards of all shards: a shard sends durable changes of its boards to the shards that
// have spectators.

// BoardView is a board of another shard as spectators see it. Gone says that it cannot be watched any more.
type BoardView struct {
	Board spectate.Board
	Gone  bool
}

// BoardViews is boards of another shard that have changed.
type BoardViews struct{ Boards []BoardView }

func (in *BoardViews) apply(p *Profile, _ *Output) {
	hub := p.audience.spectators
	if !hub.IsOpen() {
		return
	}
	for i := range in.Boards {
		switch v := &in.Boards[i]; {
		case p.boards.Board(v.Board.ID) != nil: // it has moved here meanwhile
		case v.Gone:
			hub.Hide(v.Board)
		default:
			hub.Show(v.Board)
		}
	}
}

func (in *BoardViews) pack(w *pack.Writer) {
	w.Uint(uint64(len(in.Boards)))
	for i := range in.Boards {
		b := &in.Boards[i].Board
		w.Uint(uint64(b.ID))
		w.Uint(b.Version)
		w.Bytes(b.Position.AppendPacked(nil))
		w.Int(b.Moved)
		w.Float(b.Attraction)
		w.Raw(octet(b.Chess960)|octet(b.Bot)<<1|octet(in.Boards[i].Gone)<<2, byte(b.From), byte(b.To))
	}
}

func (in *BoardViews) unpack(r *pack.Reader) {
	for n := r.Count(); len(in.Boards) < n && !r.Bad(); {
		s := BoardView{}
		s.Board.ID, s.Board.Version = wamble.BoardID(r.Uint()), r.Uint()
		var ok bool
		s.Board.Position, ok = chess.Unpack(r.Bytes())
		r.Must(ok)
		s.Board.Moved, s.Board.Attraction = r.Int(), r.Float()
		flags := r.Octet()
		s.Board.Chess960, s.Board.Bot, s.Gone = flags&1 != 0, flags&2 != 0, flags&4 != 0
		s.Board.From, s.Board.To = chess.Square(r.Octet()), chess.Square(r.Octet())
		in.Boards = append(in.Boards, s)
	}
}

// MarshalJSON encodes a view as BoardViews are recorded.
func (s BoardView) MarshalJSON() ([]byte, error) {
	var w pack.Writer
	(&BoardViews{Boards: []BoardView{s}}).pack(&w)
	return json.Marshal([]byte(w))
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (s *BoardView) UnmarshalJSON(text []byte) error {
	var packed []byte
	if err := json.Unmarshal(text, &packed); err != nil {
		return err
	}
	var in BoardViews
	r := pack.NewReader(packed)
	if in.unpack(&r); r.Bad() || len(in.Boards) != 1 {
		return errors.New("no board of another shard")
	}
	*s = in.Boards[0]
	return nil
}

func octet(yes bool) byte { return byte(one(yes)) }

// setWatchers sets the shards with spectators, one bit each, that are sent views. A shard that is new among
// them is sent all boards.
func (p *Profile) setWatchers(watchers uint64) {
	t := &p.transfers
	fresh := watchers &^ t.watchers
	if t.watchers = watchers; watchers == 0 {
		t.views = nil
		if !p.audience.spectators.IsOpen() {
			p.boards.Observe(nil)
		}
		return
	}
	p.boards.Observe(p.audience.observe)
	if fresh == 0 || p.stage != running {
		return
	}
	for b := range p.boards.All() {
		if b.Watchable() {
			p.noteView(b)
		}
	}
}

// ResendViews sends all boards to the shards with spectators again: a machine with spectators was not
// connected, and has missed changes.
type ResendViews struct{}

// sleptLately bounds the age of the last move of sleeping boards that ResendViews sends, since very many
// boards may sleep.
const sleptLately = time.Hour

func (*ResendViews) apply(p *Profile, _ *Output) {
	if p.transfers.watchers == 0 || p.stage != running {
		return
	}
	for b := range p.boards.All() {
		if b.Watchable() || p.clock.now.Sub(b.LastMoved()) < sleptLately {
			p.noteView(b)
		}
	}
	for b := range p.boards.Finished() {
		p.noteView(b)
	}
}

// noteView queues the view of a board for other shards.
func (p *Profile) noteView(b *board.Board) {
	if p.transfers.watchers != 0 {
		p.transfers.views = append(p.transfers.views, BoardView{p.spectated(b), !b.Watchable()})
	}
}

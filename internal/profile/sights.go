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

// Whoever watches sees the boards of all shards: a shard tells those that have watchers
// how its boards look, when that is durable.

// Sight is how a board of another shard looks. Gone: it cannot be watched any more.
type Sight struct {
	Board spectate.Board
	Gone  bool
}

// Sights are boards of another shard that have changed.
type Sights struct{ Boards []Sight }

func (in *Sights) take(p *Profile, _ *Output) {
	hall := p.audience.hall
	if !hall.IsOpen() {
		return
	}
	for i := range in.Boards {
		switch s := &in.Boards[i]; {
		case p.boards.Board(s.Board.ID) != nil: // it has come here since
		case s.Gone:
			hall.Hide(s.Board)
		default:
			hall.Show(s.Board)
		}
	}
}

func (in *Sights) pack(w *pack.Writer) {
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

func (in *Sights) unpack(r *pack.Reader) {
	for n := r.Count(); len(in.Boards) < n && !r.Bad(); {
		s := Sight{}
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

// MarshalJSON writes a sight as Sights are recorded.
func (s Sight) MarshalJSON() ([]byte, error) {
	var w pack.Writer
	(&Sights{Boards: []Sight{s}}).pack(&w)
	return json.Marshal([]byte(w))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Sight) UnmarshalJSON(text []byte) error {
	var packed []byte
	if err := json.Unmarshal(text, &packed); err != nil {
		return err
	}
	var in Sights
	r := pack.NewReader(packed)
	if in.unpack(&r); r.Bad() || len(in.Boards) != 1 {
		return errors.New("no board of another shard")
	}
	*s = in.Boards[0]
	return nil
}

func octet(yes bool) byte { return byte(one(yes)) }

// show begins or ends to tell other shards how boards look; watchers are those that
// have watchers, one bit each. One that is new among them is told of all boards.
func (p *Profile) showTo(watchers uint64) {
	t := &p.travel
	fresh := watchers &^ t.watchers
	if t.watchers = watchers; watchers == 0 {
		t.sights = nil
		if !p.audience.hall.IsOpen() {
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
			p.sight(b)
		}
	}
}

// ShowAgain lets other shards be told of all boards once more: a machine with watchers was
// not connected, and has missed changes.
type ShowAgain struct{}

// sleptLately is since when boards may have fallen asleep of which ShowAgain says so: there
// may be very many that sleep.
const sleptLately = time.Hour

func (*ShowAgain) take(p *Profile, _ *Output) {
	if p.travel.watchers == 0 || p.stage != running {
		return
	}
	for b := range p.boards.All() {
		if b.Watchable() || p.clock.now.Sub(b.LastMoved()) < sleptLately {
			p.sight(b)
		}
	}
	for b := range p.boards.Finished() {
		p.sight(b)
	}
}

// sight notes how a board looks, for other shards.
func (p *Profile) sight(b *board.Board) {
	if p.travel.watchers != 0 {
		p.travel.sights = append(p.travel.sights, Sight{p.spectated(b), !b.Watchable()})
	}
}

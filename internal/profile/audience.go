package profile

import (
	"crypto/sha256"

	"wamble"
	"wamble/internal/board"
	"wamble/internal/predict"
	"wamble/internal/session"
	"wamble/internal/spectate"
	"wamble/wire"
)

// audience is predictions and spectators.
type audience struct {
	book *predict.Book
	hall *spectate.Hall
	// observe is Profile.observed, while the hall is open.
	observe func(*board.Board)
	gains   []predict.Gain // by the present request
	rows    []predict.Row
	data    []wire.Prediction
}

func (p *Profile) newAudience(o Options) audience {
	// The key of the pseudonyms is derived from the same secret as the tokens, without revealing them.
	key := sha256.Sum256(append([]byte("wamble pseudonyms"), o.Seed[:]...))
	return audience{
		book:    predict.New(predictOptions(o.Config), numbers[wamble.PredictionID](p, wamble.PredictionIDs), key),
		hall:    spectate.New(spectateOptions(o.Config)),
		observe: p.observed,
	}
}

// capsAt returns what a session may do with board b, which is nil if the session has no board.
func (p *Profile) capsAt(s *session.Session, b *board.Board) wire.SessionCaps {
	caps := p.capsOf(s)
	if b == nil { // a player without a board predicts on boards of others
		if caps &^= wire.MayMove; !p.audience.book.MayPredict(s.Token(), false) {
			caps &^= wire.MayPredict
		}
		return caps
	}
	if caps&wire.MayPredict != 0 && (p.audience.book.Options().Mode == predict.Gated || p.law.Rules("prediction.write")) && p.mayPredict(s, b) < 0 {
		caps &^= wire.MayPredict
	}
	return caps
}

// observed reports a board that has changed to the hall and to other shards.
func (p *Profile) observed(b *board.Board) {
	p.sight(b)
	switch hall := p.audience.hall; {
	case !hall.IsOpen():
	case b.Watchable():
		hall.Show(p.spectated(b))
	default:
		hall.Hide(p.spectated(b))
	}
}

// spectated returns what spectators see of a board.
func (p *Profile) spectated(b *board.Board) spectate.Board {
	s := spectate.Board{
		ID: b.ID(), Version: b.Version(), Position: b.Position(), Chess960: b.Variant() >= 0,
		Attraction: b.Attraction(p.clock.now, p.boards.Options()),
	}
	if at := b.LastMoved(); !at.IsZero() {
		s.Moved = at.UnixMicro()
	}
	if from, to, ok := lastMove(b); ok {
		s.From, s.To = from, to
	}
	if m, ok := b.LastMove(); ok {
		s.Bot = p.byBot(m)
	}
	return s
}

// openHall gives the hall all boards unless it is open.
func (p *Profile) openHall() {
	hall := p.audience.hall
	if hall.IsOpen() {
		return
	}
	hall.Open(p.clock.now, func(yield func(spectate.Board) bool) {
		for b := range p.boards.All() {
			if b.Watchable() && !yield(p.spectated(b)) {
				return
			}
		}
	})
	p.boards.Observe(p.audience.observe)
}

// showSpectators sends spectators the updates that are due. Everything decided is sealed by then, so
// spectators see it only when it is durable.
func (p *Profile) showSpectators() {
	hall := p.audience.hall
	if p.stage != running || !hall.IsOpen() && hall.Len() == 0 {
		return
	}
	p.openHall()
	hall.Due(p.clock.now, (*toSpectators)(p))
	if !hall.IsOpen() && p.travel.watchers == 0 {
		p.boards.Observe(nil)
	}
}

// toSpectators is a Profile with the methods that package spectate needs.
type toSpectators Profile

// maxHeld bounds the packets that wait for the journal before spectators get no more.
const maxHeld = 1 << 14

func (h *toSpectators) Send(token wamble.Token, packet []byte) bool {
	return h.link.PushLatest(token, packet, h.gates.last)
}

func (h *toSpectators) Room() int { return maxHeld - h.link.Held() }

func (h *toSpectators) Guest(id wamble.SessionID) (spectate.Guest, bool) {
	s := h.sessions.ByID(id)
	if s == nil || h.sessions.Over(s.Token()) || !h.link.Linked(s.Token()) {
		return spectate.Guest{}, false
	}
	return (*Profile)(h).guest(s), true
}

// guest describes a session to package spectate, with what the policy lets it watch.
func (p *Profile) guest(s *session.Session) spectate.Guest {
	may := func(action, resource, key, value string) bool {
		return p.decide(s, action, resource, key, value).Allowed
	}
	return spectate.Guest{
		Session: s.ID(), Token: s.Token(), Trust: p.tier(s), Heard: s.Seen(),
		Summary: may("spectate.access", "view", "mode", "summary"), Focus: may("spectate.access", "view", "mode", "focus"),
		Bypass: may("spectate.capacity_bypass", "focus", "", ""), Modes: may("game.mode", "view", "", ""),
	}
}

func savePredictions(p *Profile, dst []byte) ([]byte, error) {
	return p.audience.book.Snapshot(dst), nil
}

func loadPredictions(v *adoption, state []byte) (err error) {
	v.book, err = predict.Load(predictOptions(v.p.cfg), numbers[wamble.PredictionID](v.p, wamble.PredictionIDs), state)
	return err
}

func saveSpectators(p *Profile, dst []byte) ([]byte, error) {
	return p.audience.hall.Snapshot(dst), nil
}

func loadSpectators(v *adoption, state []byte) (err error) {
	v.hall, err = spectate.Load(spectateOptions(v.p.cfg), state)
	return err
}

// adopt replaces predictions and spectators by those of v. The hall is closed; the next step opens it.
func (a *audience) adopt(v *adoption) {
	if v.book != nil {
		a.book = v.book
	}
	if v.hall != nil {
		a.hall = v.hall
	}
	a.hall.Slow(v.brownout.SlowWatching)
}

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
	predictions *predict.Table
	spectators  *spectate.Hub
	// observe is Profile.observed, while the hub is open.
	observe func(*board.Board)
	rows    []predict.Row
	data    []wire.Prediction
}

func (p *Profile) newAudience(o Options) audience {
	// The key of the pseudonyms is derived from the same secret as the tokens, without revealing them.
	key := sha256.Sum256(append([]byte("wamble pseudonyms"), o.Seed[:]...))
	return audience{
		predictions: predict.New(predictOptions(o.Config), numbers[wamble.PredictionID](p, wamble.PredictionIDs), key),
		spectators:  spectate.New(spectateOptions(o.Config)),
		observe:     p.observed,
	}
}

// capsAt returns what a session may do with board b, which is nil if the session has no board.
func (p *Profile) capsAt(s *session.Session, b *board.Board) wire.SessionCaps {
	caps := p.capsOf(s)
	if b == nil { // a player without a board predicts on boards of others
		if caps &^= wire.MayMove; !p.audience.predictions.MayPredict(s.Token(), false) {
			caps &^= wire.MayPredict
		}
		return caps
	}
	if caps&wire.MayPredict != 0 && (p.audience.predictions.Options().Mode == predict.Gated ||
		p.policy.Rules("prediction.write")) && p.mayPredict(s, b) < 0 {
		caps &^= wire.MayPredict
	}
	return caps
}

// observed reports a board that has changed to the hub and to other shards.
func (p *Profile) observed(b *board.Board) {
	p.noteView(b)
	switch hub := p.audience.spectators; {
	case !hub.IsOpen():
	case b.Watchable():
		hub.Show(p.spectated(b))
	default:
		hub.Hide(p.spectated(b))
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

// openSpectators gives the hub all boards unless it is open.
func (p *Profile) openSpectators() {
	hub := p.audience.spectators
	if hub.IsOpen() {
		return
	}
	hub.Open(p.clock.now, func(yield func(spectate.Board) bool) {
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
	hub := p.audience.spectators
	if p.stage != running || !hub.IsOpen() && hub.Len() == 0 {
		return
	}
	p.openSpectators()
	hub.Due(p.clock.now, (*toSpectators)(p))
	if !hub.IsOpen() && p.transfers.watchers == 0 {
		p.boards.Observe(nil)
	}
}

// toSpectators is a Profile with the methods that package spectate needs.
type toSpectators Profile

// maxWaitingPackets bounds the packets that wait for the journal before spectators get no more.
const maxWaitingPackets = 1 << 14

func (h *toSpectators) Send(token wamble.Token, packet []byte) bool {
	return h.link.PushLatest(token, packet, h.watermarks.newest)
}

func (h *toSpectators) Room() int { return maxWaitingPackets - h.link.Held() }

func (h *toSpectators) Viewer(id wamble.SessionID) (spectate.Viewer, bool) {
	s := h.sessions.ByID(id)
	if s == nil || h.sessions.Refused(s.Token()) || !h.link.Linked(s.Token()) {
		return spectate.Viewer{}, false
	}
	return (*Profile)(h).viewer(s), true
}

// viewer describes a session to package spectate, with what the policy lets it watch.
func (ru *rules) viewer(s *session.Session) spectate.Viewer {
	may := func(action, resource, key, value string) bool {
		return ru.policyDecision(s, action, resource, key, value).Allowed
	}
	return spectate.Viewer{
		Session: s.ID(), Token: s.Token(), Trust: ru.tier(s), LastSeen: s.Seen(),
		Summary: may("spectate.access", "view", "mode", "summary"),
		Focus:   may("spectate.access", "view", "mode", "focus"),
		Bypass:  may("spectate.capacity_bypass", "focus", "", ""), Modes: may("game.mode", "view", "", ""),
	}
}

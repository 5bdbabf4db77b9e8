package profile

import (
	"time"

	"wamble"
	"wamble/internal/lru"
)

// recent caches, for recentTTL, answers of the store that do not become sessions in memory: whose stats
// were asked for, and which identities could not be read. Failures are cached so that they do not cost one
// load per request.
type recent struct {
	answers *lru.Table[question, recently]
}

// question is the key of the cache: the fields of a Load that name a player.
type question struct {
	subject Subject
	session wamble.SessionID
	handle  string
	key     wamble.PublicKey
}

type recently struct {
	in    Loaded
	until time.Duration
}

const (
	maxRecent = 256
	recentTTL = 500 * time.Millisecond
)

func newRecent() recent { return recent{lru.New[question, recently](maxRecent)} }

func questionOf(l *Load) question { return question{l.Subject, l.Session, l.Handle, l.Key} }

// keep caches an answer about a player's stats, or a failure to read an identity.
func (r *recent) keep(now time.Duration, l *Load, in *Loaded) {
	if l.Subject != TargetOf && (l.Subject != PlayerOf || in.Outcome <= NotFound) {
		return
	}
	kept := Loaded{Outcome: in.Outcome}
	if in.Session != nil {
		s := *in.Session
		kept.Session = &s
	}
	if p := in.Answer.player(); p != nil {
		player := *p
		kept.Answer = &Answer{Player: &player}
	}
	*r.answers.Use(questionOf(l)) = recently{kept, now + recentTTL}
}

// find returns the cached answer to a load, nil if there is none.
func (r *recent) find(now time.Duration, l *Load) *Loaded {
	if a := r.answers.Find(questionOf(l)); a != nil && now < a.until {
		return &a.in
	}
	return nil
}

// failed returns the refusal if the store has just failed to answer a load, or nil.
func (r *recent) failed(now time.Duration, l *Load) *wamble.Denied {
	in := r.find(now, l)
	switch {
	case in == nil:
		return nil
	case in.Outcome == Away:
		return errAway
	case in.Outcome == Broken:
		return brokenOf(l.Subject)
	}
	return nil
}

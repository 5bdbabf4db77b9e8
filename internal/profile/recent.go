package profile

import (
	"time"

	"wamble"
	"wamble/internal/lru"
)

// recent is what the store said a moment ago about sessions and identities that do not
// come into memory by it: whose stats were asked for, and which identity could not be
// read. Failures count too, so that a store in trouble is not asked by everybody.
type recent struct {
	answers *lru.Table[question, recently]
}

// question is what was asked: the fields of a Load that name somebody.
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

// keep keeps an answer about somebody's stats, or that an identity could not be read.
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

// find returns what the store said a moment ago, nil if nothing is known.
func (r *recent) find(now time.Duration, l *Load) *Loaded {
	if a := r.answers.Find(questionOf(l)); a != nil && now < a.until {
		return &a.in
	}
	return nil
}

// failed returns what a player is told if the store failed to answer a moment ago.
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

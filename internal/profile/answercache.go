package profile

import (
	"time"

	"wamble"
	"wamble/internal/lru"
)

// answerCache caches, for cachedAnswerTTL, answers of the store that do not become sessions in memory: whose stats
// were asked for, and which identities could not be read. Failures are cached so that they do not cost one
// load per request.
type answerCache struct {
	answers *lru.Table[question, cachedAnswer]
}

// question is the key of the cache: the fields of a Load that name a player.
type question struct {
	subject Subject
	session wamble.SessionID
	handle  string
	key     wamble.PublicKey
}

type cachedAnswer struct {
	in    Loaded
	until time.Duration
}

const (
	maxCachedAnswers = 256
	cachedAnswerTTL  = 500 * time.Millisecond
)

func newAnswerCache() answerCache {
	return answerCache{lru.New[question, cachedAnswer](maxCachedAnswers)}
}

func questionOf(l *Load) question { return question{l.Subject, l.Session, l.Handle, l.Key} }

// add caches an answer about a player's stats, or a failure to read an identity.
func (r *answerCache) add(now time.Duration, l *Load, in *Loaded) {
	if l.Subject != TargetOf && (l.Subject != PlayerOf || in.Outcome <= NotFound) {
		return
	}
	cached := Loaded{Outcome: in.Outcome}
	if in.Session != nil {
		s := *in.Session
		cached.Session = &s
	}
	if p := in.Answer.player(); p != nil {
		player := *p
		cached.Answer = &Answer{Player: &player}
	}
	*r.answers.Use(questionOf(l)) = cachedAnswer{cached, now + cachedAnswerTTL}
}

// find returns the cached answer to a load, nil if there is none.
func (r *answerCache) find(now time.Duration, l *Load) *Loaded {
	if a := r.answers.Find(questionOf(l)); a != nil && now < a.until {
		return &a.in
	}
	return nil
}

// failed returns the refusal if the store has just failed to answer a load, or nil.
func (r *answerCache) failed(now time.Duration, l *Load) *wamble.Denied {
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

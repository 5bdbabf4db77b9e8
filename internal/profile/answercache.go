package profile

import (
	"time"

	"wamble"
	"wamble/internal/lru"
)

// answerCache caches, for cachedAnswerTTL, answers of the store that change nothing in memory: totals, ranks and
// reservations. Of the other subjects it caches failures, so that they do not cost one load per request.
type answerCache struct {
	answers *lru.Table[question, cachedAnswer]
}

// question is the key of the cache: the fields of a Load that name a player.
type question struct {
	subject Subject
	session wamble.SessionID
	handle  string
	key     wamble.PublicKey
	board   wamble.BoardID
	page    wamble.LeaderboardQuery
	profile string
	hash    [32]byte
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

func questionOf(l *Load) question {
	return question{l.Subject, l.Session, l.Handle, l.Key, l.Board, l.Page, l.Profile, l.Hash}
}

// add caches the answer to a load.
func (r *answerCache) add(now time.Duration, l *Load, in *Loaded) {
	switch l.Subject {
	case SessionOf, OtherShardsOf, NameOf:
		return // unknown tokens have a cache of their own, the others are asked for what changes
	}
	if in.Outcome <= NotFound && !l.Subject.reads() {
		return
	}
	*r.answers.Use(questionOf(l)) = cachedAnswer{
		Loaded{Outcome: in.Outcome, Session: in.Session, Answer: in.Answer}, now + cachedAnswerTTL,
	}
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

// reads reports whether an answer is only passed on to the player.
func (s Subject) reads() bool { return s == TargetOf || s == RanksOf || s == ReservationsOf }

// storeAnswer returns the answer to a load: the one that the request has waited for, or a cached one. If there is
// neither, it returns nil, and the verdict of asking the store.
func (p *Profile) storeAnswer(r *request, what Load, out *Output) (*Loaded, verdict) {
	if in := r.answerTo(what.Subject); in != nil {
		return in, done
	}
	if d := p.answerCache.failed(p.clock.since, &what); d != nil {
		return nil, p.deny(r, d)
	}
	if in := p.answerCache.find(p.clock.since, &what); in != nil {
		return in, done
	}
	return nil, p.ask(r, what, out)
}

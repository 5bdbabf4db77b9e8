package profile

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// loads is the queries to the store that are under way. A token has at most one load that may change its
// session; its later requests wait behind it.
type loads struct {
	max     int
	last    uint64 // number of the last load
	byID    map[uint64]*load
	byToken map[wamble.Token]*load
	byHost  map[netip.Prefix]int // loads per host
}

// load is one query, and the requests of its token in order of arrival. The first is the one that caused
// it.
type load struct {
	Load
	requester requester
	waiting   []waitingRequest
	newest    uint64 // durable index at the time of the query
}

// waitingRequest is a copy of a request that waits.
type waitingRequest struct {
	id        link.Request
	h         wire.Header
	data      []byte
	granted   wamble.Token
	asked     askedSubjects
	refreshes uint8
	noSession bool
	moved     bool
}

// askedSubjects is the set of subjects that the store was asked about for one request. It is asked about each at
// most once, and about a stale session at most maxRefreshes times, so every request ends.
type askedSubjects uint16

func (a askedSubjects) has(s Subject) bool { return a&(1<<s) != 0 }

func (a *askedSubjects) add(s Subject) { *a |= 1 << s }

func (a *askedSubjects) remove(s Subject) { *a &^= 1 << s }

// maxRefreshes is how often one request may wait for the facts of a session that has become stale again meanwhile.
const maxRefreshes = 4

// maxWaiting bounds the requests of one token behind a load.
const maxWaiting = 16

var (
	errAway = &wamble.Denied{Code: wamble.Internal, Reason: "database away"}
	// errAskedAlready refuses a request that would ask about a subject again, because the first answer has become
	// untrue: the player was evicted, or the terms have changed.
	errAskedAlready = &wamble.Denied{Code: wamble.Internal, Reason: "the answer of the database is outdated, try again"}
	// errShardUnreachable refuses a request about a board that may be in a shard which cannot be asked, for example
	// because it is moving to another machine.
	errShardUnreachable = &wamble.Denied{
		Code: wamble.Internal, Reason: "not every board can be reached at the moment, try again",
	}
	errBusy = &wamble.Denied{Code: wamble.Internal, Reason: "too many requests wait for the database"}
)

// brokenOf returns the refusal for a load with the outcome Broken.
func brokenOf(s Subject) *wamble.Denied {
	switch s {
	case TargetOf:
		return &wamble.Denied{Code: wamble.StatsFailed, Reason: "stats lookup failed"}
	case RanksOf:
		return &wamble.Denied{Code: wamble.LeaderboardFailed, Reason: "leaderboard query failed"}
	case ReservationsOf:
		return &wamble.Denied{Code: wamble.ReservationsFailed, Reason: "reservations query failed"}
	}
	return &wamble.Denied{Code: wamble.Internal, Reason: "database error"}
}

// player returns the identity in an answer, nil if there is none.
func (a *Answer) player() *wamble.Player {
	if a == nil {
		return nil
	}
	return a.Player
}

func newLoads(most int) loads {
	return loads{max: most, byID: map[uint64]*load{}, byToken: map[wamble.Token]*load{}, byHost: map[netip.Prefix]int{}}
}

// inOrder returns all loads, oldest first.
func (ls *loads) inOrder() []*load {
	all := make([]*load, 0, len(ls.byID))
	for _, l := range ls.byID {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *load) int { return int(int64(a.ID) - int64(b.ID)) })
	return all
}

func (ls *loads) add(l *load) {
	if ls.byID[l.ID] = l; !l.Subject.reads() && !l.Token.IsZero() {
		ls.byToken[l.Token] = l
	}
	ls.byHost[l.requester.host]++
}

func (ls *loads) remove(l *load) {
	if ls.byHost[l.requester.host]--; ls.byHost[l.requester.host] == 0 {
		delete(ls.byHost, l.requester.host)
	}
	delete(ls.byID, l.ID)
	if ls.byToken[l.Token] == l {
		delete(ls.byToken, l.Token)
	}
}

func (ls *loads) clear() {
	clear(ls.byID)
	clear(ls.byToken)
	clear(ls.byHost)
}

// ask makes a request wait for a new load. It denies the request if the store is away, was asked about the
// subject before, or has too many loads.
func (p *Profile) ask(r *request, what Load, out *Output) verdict {
	from := p.requesterOf(r)
	switch {
	case r.asked.has(what.Subject):
		return p.deny(r, errAskedAlready)
	case p.storeAway && what.Subject != OtherShardsOf:
		return p.deny(r, errAway)
	case !p.loads.hasRoomFor(from):
		return p.deny(r, errBusy)
	}
	r.asked.add(what.Subject)
	return p.queue(p.startLoad(what, from, out), r)
}

func (p *Profile) startLoad(what Load, from requester, out *Output) *load {
	p.loads.last++
	what.ID = p.loads.last
	l := &load{Load: what, requester: from, newest: p.watermarks.newest}
	p.loads.add(l)
	out.Loads = append(out.Loads, what)
	p.stats.Loads++
	return l
}

// queue copies a request behind a load, or denies it if the load has maxWaiting requests.
func (p *Profile) queue(l *load, r *request) verdict {
	if len(l.waiting) == maxWaiting {
		return p.deny(r, errBusy)
	}
	w := waitingRequest{
		id: r.id, h: r.h, data: bytes.Clone(r.data), granted: r.granted, asked: r.asked, refreshes: r.refreshes,
		noSession: r.noSession, moved: r.moved,
	}
	l.waiting = append(l.waiting, w)
	return waits
}

// StoreAway says that the store cannot be asked until StoreBack. A new Profile assumes that it can.
type StoreAway struct{}

func (*StoreAway) apply(p *Profile, _ *Output) { p.storeAway = true }

// StoreBack says that the store can be asked again.
type StoreBack struct{}

func (*StoreBack) apply(p *Profile, out *Output) {
	p.storeAway = false
	for s := range p.sessions.All() {
		if s.Stale() {
			p.refresh(s, out)
		}
	}
	p.unknownTokens.forgetFailures()
	p.answerCache = newAnswerCache()
}

// Outcome is the result of a load.
type Outcome uint8

// The closed list of outcomes.
const (
	// Found: Loaded has the row.
	Found Outcome = iota
	// NotFound: the store is sure that there is no such row.
	NotFound
	// Away: the store could not be asked; nothing is known.
	Away
	// Broken: the store could not answer, though it is there.
	Broken
)

// Loaded is the answer of the store to a Load: with Found, what its Subject says
// of Session, Board and Answer.
type Loaded struct {
	Load    uint64 // Load.ID of the question
	Outcome Outcome
	Session *wamble.Session
	Board   *wamble.Board
	Answer  *Answer
}

// apply decides the requests that waited for the answer, in order.
func (in *Loaded) apply(p *Profile, out *Output) {
	l := p.loads.byID[in.Load]
	if l == nil {
		return // dropped: the journal has failed meanwhile
	}
	p.loads.remove(l)
	if p.unstored.mayBeOutdated(&l.Load, in) {
		in = &Loaded{Load: in.Load, Outcome: Away}
	}
	p.answerCache.add(p.clock.since, &l.Load, in)
	var denied *wamble.Denied
	nobody := false
	switch {
	case in.Outcome == Away && l.Subject == OtherShardsOf:
		denied = errShardUnreachable
	case in.Outcome == Away:
		denied = errAway
	case in.Outcome == Broken:
		denied = brokenOf(l.Subject)
	case l.Subject != SessionOf:
	case l.Session != 0:
		if s := p.sessions.ByID(l.Session); s != nil && s.Stale() {
			p.refreshed(s, l, in, out)
		}
	case in.Outcome == Found && in.Session != nil:
		err := p.admit(l, in, out)
		if nobody = errors.Is(err, session.ErrEnded); err != nil && !nobody {
			denied = deniedOf(err)
		}
	default:
		nobody = true
	}
	if l.Subject == SessionOf && l.Session == 0 && (nobody || in.Outcome > NotFound) && !(in.Outcome == NotFound && p.offeredTo(l)) {
		p.unknownTokens.add(p.clock.since, l.Token, max(in.Outcome, NotFound), l.requester)
	}
	if l.Subject == SessionOf || l.Subject == TermsOf {
		p.learnTerms(l, in)
	}
	for i := range l.waiting {
		w := &l.waiting[i]
		p.setCurrent(w.data)
		if p.scratch.packet.Decode(w.data) != nil {
			continue // link has decoded it before
		}
		r := &p.scratch.request
		*r = request{
			id: w.id, h: w.h, message: p.scratch.packet.Message, ext: p.scratch.packet.Ext, data: w.data,
			granted: w.granted, asked: w.asked, refreshes: w.refreshes, noSession: w.noSession, moved: w.moved,
		}
		if i == 0 || l.Subject == SessionOf {
			r.loaded, r.subject = in, l.Subject
			r.asked.add(l.Subject)
			r.noSession = r.noSession || nobody
		}
		if denied != nil && (i == 0 || l.Subject == SessionOf) {
			p.deny(r, denied)
			p.finish(r, out)
			continue
		}
		p.request(r, out)
	}
}

// offeredTo reports whether the token of a load was offered to its sender: then it is no surprise that the
// store does not know it.
func (n *network) offeredTo(l *load) bool {
	from, _ := n.link.Peer(l.waiting[0].id)
	_, ok := n.link.Offered(from, l.Token)
	return ok
}

// admit takes the session that a load has found into memory.
func (p *Profile) admit(l *load, in *Loaded, out *Output) error {
	var from wamble.Peer
	if len(l.waiting) > 0 {
		from, _ = p.link.Peer(l.waiting[0].id)
	}
	if s := p.sessions.ByID(in.Session.ID); s != nil && s.Hash() != in.Session.Token {
		p.refreshed(s, l, in, out) // it was renewed elsewhere
	}
	s, err := p.sessions.Admit(p.clock.now, l.Token, p.clock.fromStore(*in.Session), in.Answer.player(),
		p.scratch.holds)
	if errors.Is(err, session.ErrFull) && p.makeRoom(from, out) {
		s, err = p.sessions.Admit(p.clock.now, l.Token, p.clock.fromStore(*in.Session), in.Answer.player(),
			p.scratch.holds)
	}
	if err == nil {
		p.setHost(s, from)
		p.boards.Identify(s.ID(), s.Identity() != nil) // a restored board knows its holder only by number
	}
	return err
}

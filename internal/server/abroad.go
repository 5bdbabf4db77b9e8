package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/guard"
	"wamble/internal/host"
	"wamble/internal/journal"
	"wamble/internal/pack"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/store/postgres/pglog"
)

// abroad is the other machines of the world: what they say of their shards, and what they
// are told. nil: there are none.
type abroad struct {
	s    *Server
	said atomic.Pointer[report] // by all others together
	outboxes
	twins struct{ since, warned time.Time } // of another process with the name of this one; of keepPlaces

	heard map[string]string // by machine: its last letters; of keepPlaces
	mail  mail
	// inherited is what the image before this one has heard, by database that is not open
	// yet; of stores.
	inherited map[string][]profile.Change
}

// report is what a machine says of its shards with each beat, by profile and shard.
type report map[string]elsewhere

// elsewhere is what shards of a profile on other machines have.
type elsewhere map[int]shardReport

type shardReport struct {
	profile.ShardCount
	Open bool // it takes new players
	outbox
}

func (e elsewhere) of(shard int) profile.ShardCount { return e[shard].ShardCount }

func (e elsewhere) sum() (n profile.ShardCount) {
	for _, c := range e {
		n.Players += c.Players
		n.Idle += c.Idle
		n.Bots += c.Bots
		n.Boards += c.Boards
		n.Spectators += c.Spectators
	}
	return n
}

func (e elsewhere) open() (mask uint64) {
	for shard, c := range e {
		if c.Open {
			mask |= 1 << shard
		}
	}
	return mask
}

// counts is what the shards of a profile on other machines have.
func (a *abroad) counts(profile string) elsewhere {
	if a == nil || a.said.Load() == nil {
		return nil
	}
	return (*a.said.Load())[profile]
}

// say is what this machine tells others with each beat.
func (s *Server) say() (address, note string) {
	if at := s.meshAddress.Load(); at != nil {
		address = *at
	}
	all := report{}
	for _, k := range s.supervisors() {
		of, open := elsewhere{}, k.opened()
		for _, l := range k.here() {
			if up, _ := l.Runtime.Stage(); up {
				of[l.shard.Index] = shardReport{l.Count(), open&(1<<l.shard.Index) != 0, s.sayOutbox(l)}
			}
		}
		all[k.name] = of
	}
	if s.placing.withdrawal.Load() != nil {
		all[withdrawing] = elsewhere{}
	}
	b, err := json.Marshal(all)
	s.warn(err)
	return address, string(b)
}

// sayOutbox is what others are told of the feed in the part of a shard.
func (s *Server) sayOutbox(l *supervisor) (said outbox) {
	if p := l.part.Load(); p != nil {
		said = outbox{feedName(p.runner), journal.FeedEnd(p.runner)}
		s.placing.abroad.learn(l.shard.Index, said)
	}
	return said
}

// hear takes what other machines say of their shards, and returns which of them withdraw.
func (a *abroad) hear(nodes []pglog.Node) (leaving []string) {
	all, more := report{}, false
	for _, n := range nodes {
		var of report
		if n.Self || n.Note == "" || json.Unmarshal([]byte(n.Note), &of) != nil {
			continue
		}
		for name, shards := range of {
			if name == withdrawing {
				leaving = append(leaving, n.Name)
				continue
			}
			if all[name] == nil {
				all[name] = elsewhere{}
			}
			for shard, c := range shards {
				all[name][shard] = c
				more = a.learn(shard, c.outbox) || more
			}
		}
	}
	a.said.Store(&all)
	a.heedTwins(nodes)
	if more {
		for _, k := range a.s.supervisors() {
			k.games.send()
		}
	}
	return leaving
}

// A process that has ended is seen for a lease longer: one with the same name counts after
// twinTime, and is told of every twinAgain.
const (
	twinTime  = 5 * time.Second
	twinAgain = time.Minute
)

// heedTwins warns while another process has the name of this one.
func (a *abroad) heedTwins(nodes []pglog.Node) {
	self, now := nodeName(a.s.o.Config), time.Now()
	if !slices.ContainsFunc(nodes, func(n pglog.Node) bool { return n.Name == self && n.Twins > 0 }) {
		a.twins.since = time.Time{}
		return
	}
	if a.twins.since.IsZero() {
		a.twins.since = now
	}
	if now.Sub(a.twins.since) >= twinTime && now.Sub(a.twins.warned) >= twinAgain {
		a.twins.warned = now
		a.s.log.Error("another process that shares the journal is called like this one: the two count as one machine and do not share the world. "+
			"Set journal-node to another name on one of them, and restart it", "journal_node", self)
	}
}

// read reads letters of other machines.
func (a *abroad) read(name, value string) {
	from := name[:strings.LastIndexByte(name, '/')]
	if from == newsPrefix+a.s.cluster.log.Self() || a.heard[from] == name {
		return
	}
	if a.heard == nil {
		a.heard = map[string]string{}
	}
	a.heard[from] = name
	var letters []letter
	if err := json.Unmarshal([]byte(value), &letters); err != nil {
		a.s.warn(err)
		return
	}
	for _, l := range letters {
		b, err := base64.StdEncoding.DecodeString(l.Input)
		r := pack.NewReader(b)
		in := profile.ReadInput(&r)
		if err != nil || !r.Ended() {
			a.s.log.Warn("another machine says something that this one does not understand")
			continue
		}
		if news, ok := in.(*profile.News); ok {
			a.spread(l.Database, news)
		} else if k := a.s.supervisor(l.Profile); k != nil {
			k.obey(in)
		}
	}
}

// spread tells the profiles of a database what happened on another machine.
func (a *abroad) spread(database string, news *profile.News) {
	for _, db := range a.s.stores.all() {
		if db.database == database {
			db.Registry.Tell(db.abroad, news.Changes)
			return
		}
	}
}

// obey tells the shards that are here what the host has said to another machine. What holds
// until it is taken back they learn where it is kept: see hearStanding.
func (k *supervisor) obey(in profile.Input) {
	switch in.(type) {
	case *profile.Ban, *profile.Unban, *profile.SetBrownout, *profile.Stand:
		return
	}
	k.tellHere(in)
}

// tellState tells the shards that are here what holds until it is taken back, the newest
// last, whoever has changed it.
func (k *supervisor) tellState() {
	k.stating.Lock()
	defer k.stating.Unlock()
	for _, in := range k.restrictions.State() {
		k.tellHere(in)
	}
}

// tellHere tells the shards that are here, without waiting for them.
func (k *supervisor) tellHere(in profile.Input) {
	for _, l := range k.here() {
		l.Obey(in)
	}
}

// correspondent is the other machines as a member of a database's registry: what happens
// here they are told.
type correspondent struct {
	*abroad
	database string
}

var _ registry.Courier = (*correspondent)(nil)

// Settle implements registry.Member. Nobody waits for other machines: the database says how
// far it has come with what they know.
func (*correspondent) Settle(context.Context, registry.Subject) (bool, error) { return false, nil }

// Hear implements registry.Member.
func (c *correspondent) Hear(news *profile.News) { c.send(letter{Database: c.database}, news) }

// Posted implements registry.Courier.
func (c *correspondent) Posted(ctx context.Context) error { return c.flush(ctx) }

// notes are those that were heard, and not looked at yet.
type notes struct {
	mu   sync.Mutex // guards list: a beat does not wait for who looks
	list []note

	looking sync.Mutex // guards what follows
	letters []note     // those that wait to be read
	rest    bool       // no letters are read, as during a handoff
	heeded  int64      // the version of the last one that was read, by an image before this one, too
}

type note struct {
	version     int64
	name, value string
}

func (n *notes) add(version int64, name, value string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, note{version, name, value})
}

func (n *notes) take() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	return list
}

// setRest lets letters wait, or be read again.
func (n *notes) setRest(on bool) {
	n.looking.Lock()
	defer n.looking.Unlock()
	n.rest = on
}

// last is the version of the last letter that was read.
func (n *notes) last() int64 {
	n.looking.Lock()
	defer n.looking.Unlock()
	return n.heeded
}

// standing keeps the host's restrictions where all machines read them (host.Keeper).
type standing struct{ s *Server }

const standingPrefix = "standing/"

// Read is what was heard so far: before any part is here all of it is heard.
func (k standing) Read(name string) (string, error) {
	k.s.placing.mu.Lock()
	defer k.s.placing.mu.Unlock()
	return k.s.placing.standing[name], nil
}

func (k standing) Amend(ctx context.Context, name string, change func(string) (string, error)) error {
	c := &k.s.cluster
	return c.log.Amend(ctx, c.name, standingPrefix+name, change)
}

// heed takes notes: what the host has restricted, and letters, but for those that an image
// before this one has read.
func (s *Server) heed() {
	n := &s.noted
	n.looking.Lock()
	defer n.looking.Unlock()
	for _, note := range n.take() {
		name, value := note.name, note.value
		if profile, ok := strings.CutPrefix(name, standingPrefix); ok {
			s.hearStanding(profile, value)
		} else if strings.HasPrefix(name, newsPrefix) {
			n.letters = append(n.letters, note)
		}
	}
	if n.rest {
		return
	}
	for _, l := range n.letters {
		if l.version > n.heeded {
			n.heeded = l.version
			guard.Run("a letter", func() { s.placing.abroad.read(l.name, l.value) }, s.caught)
		}
	}
	n.letters = nil
}

// hearStanding takes what the host has restricted, here or on another machine, in a profile
// or with "" in all of them, and tells the shards that are here what is new to them.
func (s *Server) hearStanding(name, value string) {
	s.placing.mu.Lock()
	s.placing.standing[name] = value
	s.placing.mu.Unlock()
	rs, concerned := s.host.Everywhere, s.supervisors()
	if name != "" {
		k := s.supervisor(name)
		if k == nil {
			return
		}
		rs, concerned = k.restrictions, []*supervisor{k}
	}
	before := make([][]host.Ban, len(concerned))
	for i, k := range concerned {
		before[i] = k.restrictions.Bans()
	}
	if err := rs.Hear(value); err != nil {
		s.warn(err)
		return
	}
	for i, k := range concerned {
		k.tellState()
		for _, in := range k.restrictions.BansSince(before[i]) {
			k.tellHere(in)
		}
	}
}

// inheritLetters lets letters wait that the image before this one has not read, until the
// profiles that it has left hear them, at most for patience.
func (s *Server) inheritLetters(ctx context.Context, patience time.Duration) {
	if !s.Inherited() {
		return
	}
	s.noted.setRest(true)
	s.help("letters to the image before", func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		for _, l := range s.loops() {
			if l.isAway() {
				continue
			}
			select {
			case <-l.Up():
			case <-ctx.Done():
			}
		}
		s.noted.setRest(false)
	})
}

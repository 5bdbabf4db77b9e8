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

// abroad tracks the other nodes of the cluster: what they report of their shards, and which
// letters were exchanged with them. nil if the journal is not distributed.
type abroad struct {
	s    *Server
	said atomic.Pointer[report] // the reports of all other nodes, merged
	outboxes
	twins struct{ since, warned time.Time } // another process has this node's name; used by keepPlaces

	heard map[string]string // by node: name of the last envelope read; used by keepPlaces
	mail  mail
	// inherited has the changes that the process before the handoff received, by database
	// that is not open yet; guarded by stores.
	inherited map[string][]profile.Change
}

// report is what a node reports of its shards with each heartbeat, by profile.
type report map[string]elsewhere

// elsewhere has the reports on the remote shards of a profile, by shard.
type elsewhere map[int]shardReport

// shardReport is what a node reports of one shard.
type shardReport struct {
	profile.ShardCount
	Open bool // the shard takes new players
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

// counts returns the reports on the remote shards of a profile.
func (a *abroad) counts(profile string) elsewhere {
	if a == nil || a.said.Load() == nil {
		return nil
	}
	return (*a.said.Load())[profile]
}

// say returns what this node sends with a heartbeat: its mesh address and its report.
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

// sayOutbox returns the state of the feed in a shard's partition, for the report.
func (s *Server) sayOutbox(l *supervisor) (said outbox) {
	if p := l.part.Load(); p != nil {
		said = outbox{feedName(p.runner), journal.FeedEnd(p.runner)}
		s.placing.abroad.learn(l.shard.Index, said)
	}
	return said
}

// hear stores the reports of the other nodes, and returns the names of those that withdraw.
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

// A process that has ended is seen until its lease expires. So another one with this node's
// name is reported only after twinTime, and then every twinAgain.
const (
	twinTime  = 5 * time.Second
	twinAgain = time.Minute
)

// heedTwins logs an error while another process uses this node's name.
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

// read applies the letters in a note of another node, unless it is the last one that was
// read.
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

// spread passes changes made on another node to the profiles of a database.
func (a *abroad) spread(database string, news *profile.News) {
	for _, db := range a.s.stores.all() {
		if db.database == database {
			db.Registry.Tell(db.abroad, news.Changes)
			return
		}
	}
}

// obey applies a host's command that was given on another node to the shards on this node.
// Restrictions are left out: they arrive as notes (see hearStanding).
func (k *supervisor) obey(in profile.Input) {
	switch in.(type) {
	case *profile.Ban, *profile.Unban, *profile.SetBrownout, *profile.Stand:
		return
	}
	k.tellHere(in)
}

// tellState passes the current restrictions of the profile to the shards on this node.
func (k *supervisor) tellState() {
	k.stating.Lock()
	defer k.stating.Unlock()
	for _, in := range k.restrictions.State() {
		k.tellHere(in)
	}
}

// tellHere passes an input to the shards on this node without waiting for them.
func (k *supervisor) tellHere(in profile.Input) {
	for _, l := range k.here() {
		l.Obey(in)
	}
}

// correspondent represents the other nodes in the registry of a database. It sends them the
// changes made on this node.
type correspondent struct {
	*abroad
	database string
}

var _ registry.Courier = (*correspondent)(nil)

// Settle implements registry.Member. It returns at once: what other nodes have decided is
// awaited by their cursors in the database.
func (*correspondent) Settle(context.Context, registry.Subject) (bool, error) { return false, nil }

// Hear implements registry.Member.
func (c *correspondent) Hear(news *profile.News) { c.send(letter{Database: c.database}, news) }

// Posted implements registry.Courier.
func (c *correspondent) Posted(ctx context.Context) error { return c.flush(ctx) }

// notes queues the notes that the log has received until keepPlaces applies them.
type notes struct {
	mu   sync.Mutex // guards list, and is held briefly, so that heartbeats are not delayed
	list []note     // received, not yet sorted

	looking sync.Mutex // guards what follows
	letters []note     // envelopes that are not applied yet
	rest    bool       // applying is paused, as during a handoff
	heeded  int64      // version of the last envelope applied, also before a handoff
}

// note is a row that all nodes receive with a heartbeat when it has changed.
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

// setRest pauses or resumes the applying of letters.
func (n *notes) setRest(on bool) {
	n.looking.Lock()
	defer n.looking.Unlock()
	n.rest = on
}

// last returns the version of the last envelope that was applied.
func (n *notes) last() int64 {
	n.looking.Lock()
	defer n.looking.Unlock()
	return n.heeded
}

// standing is a host.Keeper that keeps the host's restrictions in notes, which all nodes
// receive.
type standing struct{ s *Server }

const standingPrefix = "standing/"

// Read returns the restrictions as they were received last. They are complete before this
// node adopts its first partition.
func (k standing) Read(name string) (string, error) {
	k.s.placing.mu.Lock()
	defer k.s.placing.mu.Unlock()
	return k.s.placing.standing[name], nil
}

func (k standing) Amend(ctx context.Context, name string, change func(string) (string, error)) error {
	c := &k.s.cluster
	return c.log.Amend(ctx, c.name, standingPrefix+name, change)
}

// heed applies the received notes: restrictions, and letters, unless they are paused or
// were applied before a handoff.
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

// hearStanding applies the host's restrictions of a profile, or with "" of all profiles,
// that were changed on any node, and passes them to the shards on this node.
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

// inheritLetters pauses the applying of letters after a handoff until the inherited shards
// are up, at most for patience.
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

package cluster

import (
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/pack"
	"wamble/internal/profile"
	"wamble/internal/store/postgres/pglog"
)

// Options are what a node of a cluster is, and where it meets the others.
type Options struct {
	Node    string     // the name of this node
	Log     *pglog.Log // of the journal that the nodes share
	Journal string     // its name
	Started time.Time  // of this process
	Logger  *slog.Logger
	Warn    func(error) // logs an error that players do not notice, unless it is nil
}

// Peers tracks the other nodes of the cluster: what they report of their shards, and which
// messages were exchanged with them. nil stands for a node without others.
type Peers struct {
	o       Options
	reports atomic.Pointer[Report] // the reports of all other nodes, merged
	feedPositions
	duplicate struct{ since, warned time.Time } // another process has this node's name; used by ApplyReports

	lastRead map[string]string // by node: name of the last batch read; used by ReadBatch
	outbox   outbox
}

// NewPeers makes the Peers of a node that has exchanged nothing with the others.
func NewPeers(o Options) *Peers { return &Peers{o: o, outbox: newOutbox()} }

// Report is what a node reports of its shards with each heartbeat, by profile.
type Report map[string]RemoteShards

// RemoteShards has the reports on the remote shards of a profile, by shard.
type RemoteShards map[int]ShardReport

// ShardReport is what a node reports of one shard.
type ShardReport struct {
	profile.ShardCount
	Open bool // the shard takes new players
	FeedPosition
}

// Count returns the counts of a shard.
func (r RemoteShards) Count(shard int) profile.ShardCount { return r[shard].ShardCount }

// Sum returns the counts of all shards that concern the profile.
func (r RemoteShards) Sum() (n profile.ShardCount) {
	for _, c := range r {
		n.Players += c.Players
		n.Idle += c.Idle
		n.Bots += c.Bots
		n.Boards += c.Boards
		n.Spectators += c.Spectators
	}
	return n
}

// Open returns a bit mask of the shards that take new players.
func (r RemoteShards) Open() (mask uint64) {
	for shard, c := range r {
		if c.Open {
			mask |= 1 << shard
		}
	}
	return mask
}

// Counts returns the reports on the remote shards of a profile.
func (p *Peers) Counts(profile string) RemoteShards {
	if p == nil || p.reports.Load() == nil {
		return nil
	}
	return (*p.reports.Load())[profile]
}

// Reports returns the reports of all other nodes, merged; nil before the first heartbeat.
func (p *Peers) Reports() *Report { return p.reports.Load() }

// ApplyReports stores the reports of the other nodes. It returns what they announce of themselves,
// and whether a feed has more games than before.
func (p *Peers) ApplyReports(nodes []pglog.Node) (marks Marks, moreGames bool) {
	all := Report{}
	for _, n := range nodes {
		var of Report
		if n.Self || n.Note == "" || json.Unmarshal([]byte(n.Note), &of) != nil {
			continue
		}
		for name, shards := range of {
			switch name {
			case DrainingMarker:
				marks.Draining = append(marks.Draining, n.Name)
				continue
			case ChangingMarker:
				marks.Changing = append(marks.Changing, n.Name)
				continue
			}
			if all[name] == nil {
				all[name] = RemoteShards{}
			}
			for shard, c := range shards {
				if shard < 0 || shard >= wamble.MaxShards {
					continue // no shard has this number, and Open would shift by it
				}
				all[name][shard] = c
				moreGames = p.SetPosition(shard, c.FeedPosition) || moreGames
			}
		}
	}
	p.reports.Store(&all)
	p.warnOfDuplicateName(nodes)
	return marks, moreGames
}

// Markers stand in the place of a profile in the report of a node: that it is to stop, and that a
// reload or a handoff is under way there. No profile has such a name. Older versions read them as a
// profile without shards.
const (
	DrainingMarker = "/withdrawing"
	ChangingMarker = "/changing"
)

// Marks are the names of the other nodes with a marker.
type Marks struct{ Draining, Changing []string }

// A process that has ended is seen until its lease expires. So another one with this node's
// name is reported only after duplicateNameDelay, and then every duplicateNameWarnEvery.
const (
	duplicateNameDelay     = 5 * time.Second
	duplicateNameWarnEvery = time.Minute
)

// warnOfDuplicateName logs an error while another process uses this node's name.
func (p *Peers) warnOfDuplicateName(nodes []pglog.Node) {
	self, now := p.o.Node, time.Now()
	if !slices.ContainsFunc(nodes, func(n pglog.Node) bool { return n.Name == self && n.Twins > 0 }) {
		p.duplicate.since = time.Time{}
		return
	}
	if p.duplicate.since.IsZero() {
		p.duplicate.since = now
	}
	if now.Sub(p.duplicate.since) >= duplicateNameDelay && now.Sub(p.duplicate.warned) >= duplicateNameWarnEvery {
		p.duplicate.warned = now
		p.o.Logger.Error("another process that shares the journal is called like this one: the two count as one machine and do not share the world. "+
			"Set journal-node to another name on one of them, and restart it", "journal_node", self)
	}
}

// ReadBatch calls apply for each message in a note of another node, unless the note is the last
// one that was read, or only its row is left.
func (p *Peers) ReadBatch(name, value string, apply func(from Message, in profile.Input)) {
	from := name[:strings.LastIndexByte(name, '/')]
	if value == "" || from == MessagePrefix+p.o.Log.Self() || p.lastRead[from] == name {
		return
	}
	if p.lastRead == nil {
		p.lastRead = map[string]string{}
	}
	p.lastRead[from] = name
	var messages []Message
	if err := json.Unmarshal([]byte(value), &messages); err != nil {
		p.o.Warn(err)
		return
	}
	for _, l := range messages {
		b, err := base64.StdEncoding.DecodeString(l.Input)
		r := pack.NewReader(b)
		in := profile.ReadInput(&r)
		if err != nil || !r.Ended() {
			p.o.Logger.Warn("another machine says something that this one does not understand")
			continue
		}
		apply(l, in)
	}
}

// FeedPosition is the last known state of the feed in a partition's journal.
type FeedPosition struct {
	Journal string `json:",omitempty"` // the journal's name; "" if it is not known
	End     uint64 `json:",omitempty"`
}

// feedPositions has the feed position of each partition. It is safe for concurrent use.
type feedPositions struct {
	mu  sync.Mutex
	all map[int]FeedPosition
}

// Position returns the last known state of the feed in a partition's journal.
func (o *feedPositions) Position(part int) FeedPosition {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[part]
}

// SetPosition sets the position of a partition unless said is older, and reports whether it did.
func (o *feedPositions) SetPosition(part int, said FeedPosition) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.all[part]
	if said.Journal == "" || said == known || said.Journal == known.Journal && said.End < known.End {
		return false
	}
	if o.all == nil {
		o.all = map[int]FeedPosition{}
	}
	o.all[part] = said
	return true
}

package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/guard"
	"wamble/internal/host"
	"wamble/internal/journal"
	"wamble/internal/loop"
	"wamble/internal/pack"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/store/postgres/pglog"
)

// peers tracks the other nodes of the cluster: what they report of their shards, and which
// messages were exchanged with them. nil if the journal is not distributed.
type peers struct {
	s       *Server
	reports atomic.Pointer[report] // the reports of all other nodes, merged
	feedPositions
	duplicate struct{ since, warned time.Time } // another process has this node's name; used by rebalanceLoop

	lastRead map[string]string // by node: name of the last envelope read; used by rebalanceLoop
	outbox   outbox
	// inherited has the changes that the process before the handoff received, by database
	// that is not open yet; guarded by stores.
	inherited map[string][]profile.StoreEvent
}

// report is what a node reports of its shards with each heartbeat, by profile.
type report map[string]remoteShards

// remoteShards has the reports on the remote shards of a profile, by shard.
type remoteShards map[int]shardReport

// shardReport is what a node reports of one shard.
type shardReport struct {
	profile.ShardCount
	Open bool // the shard takes new players
	feedPosition
}

func (r remoteShards) count(shard int) profile.ShardCount { return r[shard].ShardCount }

func (r remoteShards) sum() (n profile.ShardCount) {
	for _, c := range r {
		n.Players += c.Players
		n.Idle += c.Idle
		n.Bots += c.Bots
		n.Boards += c.Boards
		n.Spectators += c.Spectators
	}
	return n
}

func (r remoteShards) open() (mask uint64) {
	for shard, c := range r {
		if c.Open {
			mask |= 1 << shard
		}
	}
	return mask
}

// counts returns the reports on the remote shards of a profile.
func (p *peers) counts(profile string) remoteShards {
	if p == nil || p.reports.Load() == nil {
		return nil
	}
	return (*p.reports.Load())[profile]
}

// heartbeat returns what this node sends with a heartbeat: its mesh address and its report.
func (s *Server) heartbeat() (address, note string) {
	if at := s.meshAddress.Load(); at != nil {
		address = *at
	}
	all := report{}
	for _, prof := range s.profiles() {
		of, open := remoteShards{}, prof.openMask()
		for _, sh := range prof.localShards() {
			if up, _ := sh.runtime.Stage(); up {
				of[sh.index] = shardReport{sh.runtime.Count(), open&(1<<sh.index) != 0, s.localFeedPosition(sh)}
			}
		}
		all[prof.name] = of
	}
	if s.rebalancer.nodeDrain.Load() != nil {
		all[drainingMarker] = remoteShards{}
	}
	b, err := json.Marshal(all)
	s.warn(err)
	return address, string(b)
}

// localFeedPosition returns the state of the feed in a shard's partition, for the report.
func (s *Server) localFeedPosition(sh *Shard) (said feedPosition) {
	if p := sh.partition.Load(); p != nil {
		said = feedPosition{feedName(p.runner), journal.FeedEnd(p.runner)}
		s.rebalancer.peers.update(sh.index, said)
	}
	return said
}

// applyReports stores the reports of the other nodes, and returns the names of those that withdraw.
func (p *peers) applyReports(nodes []pglog.Node) (leaving []string) {
	all, more := report{}, false
	for _, n := range nodes {
		var of report
		if n.Self || n.Note == "" || json.Unmarshal([]byte(n.Note), &of) != nil {
			continue
		}
		for name, shards := range of {
			if name == drainingMarker {
				leaving = append(leaving, n.Name)
				continue
			}
			if all[name] == nil {
				all[name] = remoteShards{}
			}
			for shard, c := range shards {
				all[name][shard] = c
				more = p.update(shard, c.feedPosition) || more
			}
		}
	}
	p.reports.Store(&all)
	p.warnOfDuplicateName(nodes)
	if more {
		for _, prof := range p.s.profiles() {
			prof.gamesChanged.send()
		}
	}
	return leaving
}

// A process that has ended is seen until its lease expires. So another one with this node's
// name is reported only after duplicateNameDelay, and then every duplicateNameWarnEvery.
const (
	duplicateNameDelay     = 5 * time.Second
	duplicateNameWarnEvery = time.Minute
)

// warnOfDuplicateName logs an error while another process uses this node's name.
func (p *peers) warnOfDuplicateName(nodes []pglog.Node) {
	self, now := nodeName(p.s.o.Config), time.Now()
	if !slices.ContainsFunc(nodes, func(n pglog.Node) bool { return n.Name == self && n.Twins > 0 }) {
		p.duplicate.since = time.Time{}
		return
	}
	if p.duplicate.since.IsZero() {
		p.duplicate.since = now
	}
	if now.Sub(p.duplicate.since) >= duplicateNameDelay && now.Sub(p.duplicate.warned) >= duplicateNameWarnEvery {
		p.duplicate.warned = now
		p.s.log.Error("another process that shares the journal is called like this one: the two count as one machine and do not share the world. "+
			"Set journal-node to another name on one of them, and restart it", "journal_node", self)
	}
}

// applyBatch applies the messages in a note of another node, unless it is the last one that was
// read.
func (p *peers) applyBatch(name, value string) {
	from := name[:strings.LastIndexByte(name, '/')]
	if from == peerMessagePrefix+p.s.sharedJournal.log.Self() || p.lastRead[from] == name {
		return
	}
	if p.lastRead == nil {
		p.lastRead = map[string]string{}
	}
	p.lastRead[from] = name
	var messages []peerMessage
	if err := json.Unmarshal([]byte(value), &messages); err != nil {
		p.s.warn(err)
		return
	}
	for _, l := range messages {
		b, err := base64.StdEncoding.DecodeString(l.Input)
		r := pack.NewReader(b)
		in := profile.ReadInput(&r)
		if err != nil || !r.Ended() {
			p.s.log.Warn("another machine says something that this one does not understand")
			continue
		}
		if events, ok := in.(*profile.StoreEvents); ok {
			p.broadcast(l.Database, events)
		} else if prof := p.s.profile(l.Profile); prof != nil {
			prof.applyHostInput(in)
		}
	}
}

// broadcast passes changes made on another node to the profiles of a database.
func (p *peers) broadcast(database string, events *profile.StoreEvents) {
	for _, db := range p.s.stores.all() {
		if db.database == database {
			db.Registry.Publish(db.peerMember, events.Changes)
			return
		}
	}
}

// applyHostInput applies a host's command that was given on another node to the shards on this node.
// Restrictions are left out: they arrive as notes (see applyRestrictions).
func (p *Profile) applyHostInput(in profile.Input) {
	if !profile.ScopeOf(in).Lasts() {
		p.sendToLocalShards(in)
	}
}

// sendRestrictions passes the current restrictions of the profile to the shards on this node.
func (p *Profile) sendRestrictions() {
	p.restrictionsMu.Lock()
	defer p.restrictionsMu.Unlock()
	for _, in := range p.restrictions.State() {
		p.sendToLocalShards(in)
	}
}

// sendToLocalShards passes an input to the shards on this node without waiting for them.
func (p *Profile) sendToLocalShards(in profile.Input) {
	for _, sh := range p.localShards() {
		sh.runtime.Send(in)
	}
}

// peerMember represents the other nodes in the registry of a database. It sends them the
// changes made on this node.
type peerMember struct {
	*peers
	database string
}

var _ registry.PeerMember = (*peerMember)(nil)

// AwaitApplied implements registry.Member. It returns at once: what other nodes have decided is
// awaited by their cursors in the database.
func (*peerMember) AwaitApplied(context.Context, registry.Subject) (bool, error) { return false, nil }

// Notify implements registry.Member.
func (c *peerMember) Notify(events *profile.StoreEvents) {
	c.enqueue(peerMessage{Database: c.database}, events)
}

// Flush implements registry.PeerMember.
func (c *peerMember) Flush(ctx context.Context) error { return c.flush(ctx) }

// noteQueue queues the notes that the log has received until rebalanceLoop applies them.
type noteQueue struct {
	mu   sync.Mutex // guards list, and is held briefly, so that heartbeats are not delayed
	list []note     // received, not yet sorted

	applyMu sync.Mutex // guards what follows
	unread  []note     // envelopes that are not applied yet
	paused  bool       // applying is paused, as during a handoff
	applied int64      // version of the last envelope applied, also before a handoff
}

// note is a row that all nodes receive with a heartbeat when it has changed.
type note struct {
	version     int64
	name, value string
}

func (n *noteQueue) add(version int64, name, value string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, note{version, name, value})
}

func (n *noteQueue) drain() []note {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.list
	n.list = nil
	return list
}

// setPaused pauses or resumes the applying of messages.
func (n *noteQueue) setPaused(on bool) {
	n.applyMu.Lock()
	defer n.applyMu.Unlock()
	n.paused = on
}

// lastApplied returns the version of the last envelope that was applied.
func (n *noteQueue) lastApplied() int64 {
	n.applyMu.Lock()
	defer n.applyMu.Unlock()
	return n.applied
}

// sharedRestrictions is a host.TextStore that keeps the host's restrictions in notes, which all nodes
// receive.
type sharedRestrictions struct{ s *Server }

const restrictionsPrefix = "standing/"

// Read returns the restrictions as they were received last. They are complete before this
// node adopts its first partition.
func (r sharedRestrictions) Read(name string) (string, error) {
	r.s.rebalancer.mu.Lock()
	defer r.s.rebalancer.mu.Unlock()
	return r.s.rebalancer.restrictions[name], nil
}

func (r sharedRestrictions) Amend(ctx context.Context, name string, change func(string) (string, error)) error {
	c := &r.s.sharedJournal
	return c.log.Amend(ctx, c.name, restrictionsPrefix+name, change)
}

// applyNotes applies the received notes: restrictions, and messages, unless they are paused or
// were applied before a handoff.
func (s *Server) applyNotes() {
	n := &s.receivedNotes
	n.applyMu.Lock()
	defer n.applyMu.Unlock()
	for _, note := range n.drain() {
		name, value := note.name, note.value
		if profile, ok := strings.CutPrefix(name, restrictionsPrefix); ok {
			s.applyRestrictions(profile, value)
		} else if strings.HasPrefix(name, peerMessagePrefix) {
			n.unread = append(n.unread, note)
		}
	}
	if n.paused {
		return
	}
	for _, l := range n.unread {
		if l.version > n.applied {
			n.applied = l.version
			guard.Run("a letter", func() { s.rebalancer.peers.applyBatch(l.name, l.value) }, s.reportPanic)
		}
	}
	n.unread = nil
}

// applyRestrictions applies the host's restrictions of a profile, or with "" of all profiles,
// that were changed on any node, and passes them to the shards on this node.
func (s *Server) applyRestrictions(name, value string) {
	s.rebalancer.mu.Lock()
	s.rebalancer.restrictions[name] = value
	s.rebalancer.mu.Unlock()
	rs, concerned := s.host.Global, s.profiles()
	if name != "" {
		prof := s.profile(name)
		if prof == nil {
			return
		}
		rs, concerned = prof.restrictions, []*Profile{prof}
	}
	before := make([][]host.Ban, len(concerned))
	for i, prof := range concerned {
		before[i] = prof.restrictions.Bans()
	}
	if err := rs.Update(value); err != nil {
		s.warn(err)
		return
	}
	for i, prof := range concerned {
		prof.sendRestrictions()
		for _, in := range prof.restrictions.BansSince(before[i]) {
			prof.sendToLocalShards(in)
		}
	}
}

// delayNotesUntilUp pauses the applying of messages after a handoff until the inherited shards
// are up, at most for patience.
func (s *Server) delayNotesUntilUp(ctx context.Context, patience time.Duration) {
	if !s.Inherited() {
		return
	}
	s.receivedNotes.setPaused(true)
	s.runBackground("letters to the image before", func() {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		for _, sh := range s.shards() {
			if sh.isRemote() {
				continue
			}
			select {
			case <-sh.runtime.Up():
			case <-ctx.Done():
			}
		}
		s.receivedNotes.setPaused(false)
	})
}

// Players predict on boards of other nodes, and watch them. The node that serves the player
// asks the holders of the shards.

const (
	// maxBoardQuestions bounds the concurrent questions about boards. A node answers few at a
	// time, and other questions need room, too.
	maxBoardQuestions = 8
	// boardQuestionTimeout bounds the answers of other nodes. Past it the player is told to try again.
	boardQuestionTimeout = 2 * time.Second
)

// boardQuestion asks a node about a board that may be in one of the shards.
type boardQuestion struct {
	Profile string
	Shards  []int
	Ask     profile.BoardRequest
}

// askRemoteShards asks the holders of shards about a board. Told is nil if none of them has it. An
// error says that not all answered.
func (r *router) askRemoteShards(ctx context.Context, name string, shards []int, in profile.BoardRequest) (told *profile.BoardReply, err error) {
	at := map[string][]int{}
	for _, shard := range shards {
		node, _, here := r.s.partitionOwners.owner(shard)
		if node == "" || here { // being adopted or left
			err = loop.ErrNotUp
			continue
		}
		at[node] = append(at[node], shard)
	}
	select {
	case r.questionSlots <- struct{}{}:
		defer func() { <-r.questionSlots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, boardQuestionTimeout)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for node, shards := range at {
		all.Go(func() {
			guard.Run("a question to another machine", func() {
				var said *profile.BoardReply
				no := r.ask(ctx, node, "board", boardQuestion{name, shards, in}, &said)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case no != nil:
					err = no
				case said != nil && said.Known:
					told = said
				}
			}, r.s.reportPanic)
		})
	}
	all.Wait()
	return told, err
}

// answerBoard answers a boardQuestion of another node. If the board is not found, it is an
// error that one of the shards is not on this node, because the board may be there.
func (s *Server) answerBoard(ctx context.Context, question []byte) ([]byte, error) {
	var q boardQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	prof := s.profile(q.Profile)
	if prof == nil {
		return nil, fmt.Errorf("there is no profile %s here", q.Profile)
	}
	var absent error
	for _, shard := range q.Shards {
		sh := prof.shardOf(shard)
		if sh == nil {
			return nil, fmt.Errorf("there is no shard %d of profile %s", shard, q.Profile)
		}
		told, err := sh.runtime.AskBoard(ctx, q.Ask)
		if told != nil {
			return json.Marshal(told)
		}
		if err != nil {
			absent = fmt.Errorf("shard %d: %w", shard, err)
		}
	}
	if absent != nil {
		return nil, absent
	}
	return json.Marshal(nil)
}

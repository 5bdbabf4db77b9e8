package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"wamble/internal/cluster"
	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/readapi"
	"wamble/runner"
)

// feed returns the feed of a profile's finished games: from the server's journal, or from
// all partitions of the cluster.
func (s *Server) feed(p *Profile) readapi.Feed {
	if s.isPartitioned() {
		return clusterFeed{s, p}
	}
	return feed{p, s.runner}
}

// feed reads the finished games of a profile from the journal's outbox.
type feed struct {
	profile *Profile
	runner  *runner.Runner
}

func (f feed) Parts() int { return 1 }

func (f feed) Name() (string, error) { return feedName(f.runner), nil }

// feedName returns the first 8 hexadecimal digits of the journal's identifier. Sequence
// numbers of the feed are valid for one journal only.
func feedName(r *runner.Runner) string {
	id := r.JournalID()
	return hex.EncodeToString(id[:4])
}

func (f feed) End(context.Context) (readapi.Positions, error) {
	return readapi.Positions{journal.FeedEnd(f.runner)}, nil
}

func (f feed) Read(_ context.Context, after readapi.Positions, limit int) ([]readapi.Ended, readapi.Positions, bool,
	error) {
	got, err := readFeed(f.runner, f.profile.name, 0, after[0], limit)
	return got.Games, readapi.Positions{got.UpTo}, got.Gone, err
}

func (f feed) Changed() <-chan struct{} { return f.profile.gamesChanged.wait() }

// feedPage is a page of the feed of one journal.
type feedPage struct {
	Games []readapi.Ended `json:",omitempty"`
	UpTo  uint64
	End   uint64
	Gone  bool `json:",omitempty"` // games after the given number were deleted, or the number is too high
}

// readFeed reads at most limit finished games of a profile after a sequence number in the
// journal of a partition.
func readFeed(r *runner.Runner, profile string, part int, after uint64, limit int) (feedPage, error) {
	rows, upTo, gone, err := journal.ReadFeed(r, profile, after, limit)
	page := feedPage{UpTo: upTo, End: journal.FeedEnd(r), Games: make([]readapi.Ended, len(rows))}
	page.Gone = gone || after > page.End
	for i, r := range rows {
		page.Games[i] = readapi.Ended{
			Part: part, Seq: r.Seq, Board: r.Board, Winner: r.Winner, Reason: r.Reason, Plies: r.Plies,
			Seconds: r.Seconds, Finished: r.Finished,
		}
	}
	return page, err
}

// clusterFeed reads the finished games of a profile from all partitions of the cluster. The
// games of a partition are in its journal, so positions stay valid when it moves to another
// node.
type clusterFeed struct {
	s       *Server
	profile *Profile
}

func (f clusterFeed) Parts() int { return len(f.profile.shards) }

// Name is a hash of the names of all partitions' journals, of one its name.
func (f clusterFeed) Name() (string, error) {
	h := fnv.New32a()
	for part := range f.Parts() {
		name := f.s.rebalancer.peers.Position(part).Journal
		if p := f.s.partitionOf(part); p != nil {
			name = feedName(p.runner)
		}
		if name == "" {
			return "", readapi.ErrStarting
		}
		if f.s.partitionCount() == 1 {
			return name, nil
		}
		h.Write([]byte(name))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (f clusterFeed) Changed() <-chan struct{} { return f.profile.gamesChanged.wait() }

// End returns the ends of all partitions: those on this node exactly, the others as of
// their last heartbeat.
func (f clusterFeed) End(context.Context) (readapi.Positions, error) {
	m := make(readapi.Positions, f.Parts())
	for part := range m {
		m[part] = f.s.rebalancer.peers.Position(part).End
		if p := f.s.partitionOf(part); p != nil {
			m[part] = journal.FeedEnd(p.runner)
		}
	}
	return m, nil
}

func (f clusterFeed) Read(ctx context.Context, after readapi.Positions, limit int) (games []readapi.Ended,
	upTo readapi.Positions, gone bool, err error) {
	q := feedQuestion{Profile: f.profile.name, After: map[int]uint64{}, Limit: limit}
	for part, seq := range after {
		q.After[part] = seq
	}
	pages := f.s.askPartitions(ctx, q)
	if len(pages) == 0 {
		return nil, after, false, readapi.ErrStarting
	}
	upTo = slices.Clone(after)
	var all []readapi.Ended
	for part, page := range pages {
		upTo[part], gone = page.UpTo, gone || page.Gone
		all = append(all, page.Games...)
	}
	if gone {
		return nil, after, true, nil
	}
	slices.SortFunc(all, func(a, b readapi.Ended) int {
		return cmp.Or(a.Finished.Compare(b.Finished), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Seq, b.Seq))
	})
	interleave(all)
	if len(all) > limit {
		for _, g := range slices.Backward(all[limit:]) {
			upTo[g.Part] = g.Seq - 1
		}
		all = all[:limit]
	}
	return all, upTo, false, nil
}

// interleave sorts the games of each partition by sequence number within the positions that
// they occupy together, because clocks of nodes may differ.
func interleave(all []readapi.Ended) {
	places := map[int][]int{}
	for i, g := range all {
		places[g.Part] = append(places[g.Part], i)
	}
	for _, at := range places {
		games := make([]readapi.Ended, len(at))
		for n, i := range at {
			games[n] = all[i]
		}
		slices.SortFunc(games, func(a, b readapi.Ended) int { return cmp.Compare(a.Seq, b.Seq) })
		for n, i := range at {
			all[i] = games[n]
		}
	}
}

// feedQuestion asks a node for finished games of its partitions.
type feedQuestion struct {
	Profile string
	After   map[int]uint64 // by part
	Limit   int
}

const (
	feedTimeout   = 2 * time.Second // longest time for the answers of other nodes
	maxFeedAnswer = 1000            // most games in the answer of a node
)

// askPartitions reads the pages of partitions on this node and on others. A partition that
// cannot be read now is left out.
func (s *Server) askPartitions(ctx context.Context, q feedQuestion) map[int]feedPage {
	pages := s.readPartitions(q)
	asked := map[string]feedQuestion{}
	for part, after := range q.After {
		owner := s.partitionOwners.Owner(part)
		node := owner.Node
		if _, known := pages[part]; known || owner.Local || node == "" {
			continue
		}
		if asked[node].After == nil {
			asked[node] = feedQuestion{q.Profile, map[int]uint64{}, q.Limit}
		}
		asked[node].After[part] = after
	}
	ctx, cancel := context.WithTimeout(ctx, feedTimeout)
	defer cancel()
	cluster.AskEach(ctx, s.router, "feed", asked, func(node string, got map[int]feedPage, err error) {
		for part, page := range got {
			if _, wanted := asked[node].After[part]; wanted && err == nil {
				pages[part] = page
			}
		}
	})
	return pages
}

// readPartitions reads the pages of partitions on this node.
func (s *Server) readPartitions(q feedQuestion) map[int]feedPage {
	pages := map[int]feedPage{}
	for part, after := range q.After {
		if part < 0 || part >= s.partitionCount() {
			continue
		}
		p := s.partitionOf(part)
		if p == nil {
			continue
		}
		page, err := readFeed(p.runner, q.Profile, part, after, q.Limit)
		if err == nil && p.Holds() { // no other node had newer games when it was read
			pages[part] = page
		}
	}
	return pages
}

// answerFeed answers a feedQuestion of another node, with at most maxFeedAnswer games.
func (s *Server) answerFeed(question []byte) ([]byte, error) {
	var q feedQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	if len(q.After) == 0 || len(q.After) > len(s.rebalancer.partitions) {
		return nil, fmt.Errorf("%d parts are asked for", len(q.After))
	}
	q.Limit = max(1, min(q.Limit, maxFeedAnswer/len(q.After)))
	return json.Marshal(s.readPartitions(q))
}

// The stream of events of a profile has the events of all shards. A node with observers
// polls the holders of remote shards and continues after the last event it received, also
// when the holder changes. Events that were sent are kept in the partition's journal (see
// journal.DrainOptions.RememberEvents), so they survive the loss of a node.

const (
	eventsPollEvery = 100 * time.Millisecond // interval between two looks at the holders
	eventsWait      = time.Second            // how long an answer waits for an event
	maxEventsAnswer = 500                    // most events in an answer
)

// eventsQuestion asks a node for events in its shards of a profile.
type eventsQuestion struct {
	Profile string
	After   map[int]uint64 // by shard: number of the last message received
}

// eventsPage has events of one shard (see readapi.Stream.Since).
type eventsPage struct {
	First, Through, End uint64
	List                []readapi.Happened `json:",omitempty"`
}

// pollRemoteEvents polls the events of remote shards while the stream has observers, until ctx ends.
func (p *Profile) pollRemoteEvents(ctx context.Context) {
	asked := map[string]bool{} // nodes with a question under way
	answered := make(chan string, len(p.shards))
	tick := time.NewTicker(eventsPollEvery)
	defer tick.Stop()
	for {
		// Find the holders of remote shards.
		observed := p.events.Observed(time.Now())
		owners := map[string][]int{}
		for shard, sh := range p.shards {
			if !sh.isRemote() {
				continue
			}
			if !observed {
				p.events.Forget(shard)
				continue
			}
			owner := p.server.partitionOwners.Owner(shard)
			if owner.Local || owner.Node == "" {
				sh.holdEvents()
				continue
			}
			owners[owner.Node] = append(owners[owner.Node], shard)
		}
		// Ask each holder that has no question under way.
		for node, shards := range owners {
			if asked[node] {
				continue
			}
			asked[node] = true
			p.background.Go(func() {
				guard.Run("events of another machine", func() { p.pollNodeEvents(ctx, node, shards) }, p.reportPanic)
				select {
				case answered <- node:
				case <-ctx.Done():
				}
			})
		}
		select {
		case node := <-answered:
			delete(asked, node)
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// holdEvents makes the stream wait for events of the shard, unless the shard is on this node by now.
func (sh *Shard) holdEvents() {
	sh.arrivalMu.Lock()
	defer sh.arrivalMu.Unlock()
	if sh.isRemote() {
		sh.profile.events.SetBarrier(sh.index, 0, time.Time{})
	}
}

// arrive records that this node has the shard's partition. The stream waits until the shard's drain has
// delivered its last events, because other shards may go on with its boards.
func (sh *Shard) arrive(p *partition) {
	sh.arrivalMu.Lock()
	defer sh.arrivalMu.Unlock()
	sh.profile.events.SetBarrier(sh.index, 0, time.Time{})
	sh.partition.Store(p)
}

// pollNodeEvents sends one question to a node and adds the answer to the stream.
func (p *Profile) pollNodeEvents(ctx context.Context, node string, shards []int) {
	q := eventsQuestion{p.name, map[int]uint64{}}
	for _, shard := range shards {
		q.After[shard], _ = p.events.Known(shard)
	}
	var got map[int]eventsPage
	err := p.server.router.Ask(ctx, node, "events", q, &got)
	for _, shard := range shards {
		page, ok := got[shard]
		if !ok {
			p.shards[shard].holdEvents()
			continue
		}
		p.events.Meet(shard, page.End)
		p.events.Add(shard, page.First, page.Through, page.List)
	}
	if err != nil || len(got) == 0 {
		sleep(ctx, eventsPollEvery)
	}
}

// answerEvents answers an eventsQuestion of another node when there are events, or after
// eventsWait.
func (s *Server) answerEvents(ctx context.Context, question []byte) ([]byte, error) {
	var q eventsQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	prof := s.profile(q.Profile)
	if prof == nil || len(q.After) == 0 || len(q.After) > len(prof.shards) {
		return nil, fmt.Errorf("profile %q has no such shards here", q.Profile)
	}
	ctx, cancel := context.WithTimeout(ctx, eventsWait)
	defer cancel()
	for {
		prof.events.Asked(time.Now())
		changed := prof.events.Changed() // before reading, so that nothing is missed
		pages, more := map[int]eventsPage{}, false
		for shard, after := range q.After {
			if sh := prof.shardOf(shard); sh == nil || sh.isRemote() {
				continue
			}
			var p eventsPage
			var known bool
			if p.First, p.Through, p.End, p.List,
				known = prof.events.Since(shard, after, max(1, maxEventsAnswer/len(q.After))); known {
				pages[shard] = p
				more = more || p.Through > after
			}
		}
		if more || changed == nil || ctx.Err() != nil {
			return json.Marshal(pages)
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

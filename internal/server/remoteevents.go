package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wamble/internal/guard"
	"wamble/internal/readapi"
)

// The stream of events of a profile has the events of all shards. A node with observers
// polls the holders of remote shards and continues after the last event it received, also
// when the holder changes. Events that were sent are kept in the partition's journal (see
// journal.DrainOptions.Remember), so they survive the loss of a node.

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
func (s *supervisor) pollRemoteEvents(ctx context.Context) {
	asked := map[string]bool{} // nodes with a question under way
	answered := make(chan string, len(s.shards()))
	tick := time.NewTicker(eventsPollEvery)
	defer tick.Stop()
	for {
		// Find the holders of remote shards.
		observed := s.events.Observed(time.Now())
		owners := map[string][]int{}
		for shard, l := range s.shards() {
			if !l.isRemote() {
				continue
			}
			if !observed {
				s.events.Forget(shard)
				continue
			}
			node, _, here := s.peers.s.partitionOwners.owner(shard)
			if here || node == "" {
				s.holdEvents(shard)
				continue
			}
			owners[node] = append(owners[node], shard)
		}
		// Ask each holder that has no question under way.
		for node, shards := range owners {
			if asked[node] {
				continue
			}
			asked[node] = true
			s.background.Go(func() {
				guard.Run("events of another machine", func() { s.pollNodeEvents(ctx, node, shards) }, s.reportPanic)
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

// holdEvents makes the stream wait for events of a shard, unless the shard is on this node by now.
func (s *supervisor) holdEvents(shard int) {
	l := s.shards()[shard]
	l.arrivalMu.Lock()
	defer l.arrivalMu.Unlock()
	if l.isRemote() {
		s.events.Hold(shard)
	}
}

// attachShard records that this node has a shard. The stream waits until the shard's drain has
// delivered its last events, because other shards may go on with its boards.
func (s *supervisor) attachShard(shard int, p *partition) {
	l := s.shards()[shard]
	l.arrivalMu.Lock()
	defer l.arrivalMu.Unlock()
	s.events.Hold(shard)
	l.partition.Store(p)
}

// pollNodeEvents sends one question to a node and adds the answer to the stream.
func (s *supervisor) pollNodeEvents(ctx context.Context, node string, shards []int) {
	q := eventsQuestion{s.name, map[int]uint64{}}
	for _, shard := range shards {
		q.After[shard], _ = s.events.Known(shard)
	}
	var got map[int]eventsPage
	err := s.peers.s.router.ask(ctx, node, "events", q, &got)
	for _, shard := range shards {
		page, ok := got[shard]
		if !ok {
			s.holdEvents(shard)
			continue
		}
		s.events.Meet(shard, page.End)
		s.events.Add(shard, page.First, page.Through, page.List)
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
	sup := s.supervisor(q.Profile)
	if sup == nil || len(q.After) == 0 || len(q.After) > len(sup.shards()) {
		return nil, fmt.Errorf("profile %q has no such shards here", q.Profile)
	}
	ctx, cancel := context.WithTimeout(ctx, eventsWait)
	defer cancel()
	for {
		sup.events.Asked(time.Now())
		changed := sup.events.Changed() // before reading, so that nothing is missed
		pages, more := map[int]eventsPage{}, false
		for shard, after := range q.After {
			if l := sup.shardOf(shard); shard < 0 || l == nil || l.isRemote() {
				continue
			}
			var p eventsPage
			var known bool
			if p.First, p.Through, p.End, p.List, known = sup.events.Since(shard, after, max(1, maxEventsAnswer/len(q.After))); known {
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

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
	followPause  = 100 * time.Millisecond // interval between two looks at the holders
	followWait   = time.Second            // how long an answer waits for an event
	followAnswer = 500                    // most events in an answer
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

// follow polls the events of remote shards while the stream has observers, until ctx ends.
func (k *supervisor) follow(ctx context.Context) {
	asked := map[string]bool{} // nodes with a question under way
	answered := make(chan string, len(k.loops()))
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		// Find the holders of remote shards.
		observed := k.events.Observed(time.Now())
		owners := map[string][]int{}
		for shard, l := range k.loops() {
			if !l.isAway() {
				continue
			}
			if !observed {
				k.events.Forget(shard)
				continue
			}
			node, _, here := k.abroad.s.places.owner(shard)
			if here || node == "" {
				k.hold(shard)
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
			k.counting.Go(func() {
				guard.Run("events of another machine", func() { k.followNode(ctx, node, shards) }, k.caught)
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

// hold makes the stream wait for events of a shard, unless the shard is on this node by now.
func (k *supervisor) hold(shard int) {
	l := k.loops()[shard]
	l.coming.Lock()
	defer l.coming.Unlock()
	if l.isAway() {
		k.events.Hold(shard)
	}
}

// take records that this node has a shard. The stream waits until the shard's drain has
// delivered its last events, because other shards may go on with its boards.
func (k *supervisor) take(shard int, p *part) {
	l := k.loops()[shard]
	l.coming.Lock()
	defer l.coming.Unlock()
	k.events.Hold(shard)
	l.part.Store(p)
}

// followNode sends one question to a node and adds the answer to the stream.
func (k *supervisor) followNode(ctx context.Context, node string, shards []int) {
	q := eventsQuestion{k.name, map[int]uint64{}}
	for _, shard := range shards {
		q.After[shard], _ = k.events.Known(shard)
	}
	var got map[int]eventsPage
	err := k.abroad.s.junction.ask(ctx, node, "events", q, &got)
	for _, shard := range shards {
		page, ok := got[shard]
		if !ok {
			k.hold(shard)
			continue
		}
		k.events.Meet(shard, page.End)
		k.events.Add(shard, page.First, page.Through, page.List)
	}
	if err != nil || len(got) == 0 {
		wait(ctx, followPause)
	}
}

// answerEvents answers an eventsQuestion of another node when there are events, or after
// followWait.
func (s *Server) answerEvents(ctx context.Context, question []byte) ([]byte, error) {
	var q eventsQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	k := s.supervisor(q.Profile)
	if k == nil || len(q.After) == 0 || len(q.After) > len(k.loops()) {
		return nil, fmt.Errorf("profile %q has no such shards here", q.Profile)
	}
	ctx, cancel := context.WithTimeout(ctx, followWait)
	defer cancel()
	for {
		k.events.Asked(time.Now())
		changed := k.events.Changed() // before reading, so that nothing is missed
		pages, more := map[int]eventsPage{}, false
		for shard, after := range q.After {
			if l := k.shardOf(shard); shard < 0 || l == nil || l.isAway() {
				continue
			}
			var p eventsPage
			var known bool
			if p.First, p.Through, p.End, p.List, known = k.events.Since(shard, after, max(1, followAnswer/len(q.After))); known {
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

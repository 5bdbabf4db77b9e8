package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wamble/internal/guard"
	"wamble/internal/readapi"
)

// The stream of events of a profile has what happens in all shards. Of those that are on
// other machines a machine with observers asks whoever has them, again and again, and goes
// on behind what it was told last, whoever that was. What a machine has told is in the
// journal of the part (see journal.DrainOptions.Remember): so is nothing lost with it.

const (
	followPause  = 100 * time.Millisecond // between two looks at who has which shard
	followWait   = time.Second            // for which an answer waits until something happens
	followAnswer = 500                    // events in an answer
)

// eventsQuestion asks a machine what happened in its shards of a profile.
type eventsQuestion struct {
	Profile string
	After   map[int]uint64 // by shard: the last message that is known
}

// eventsPage is what happened in a shard (see readapi.Stream.Since).
type eventsPage struct {
	First, Through, End uint64
	List                []readapi.Happened `json:",omitempty"`
}

// follow keeps what is known of shards on other machines, until ctx ends.
func (k *supervisor) follow(ctx context.Context) {
	asked := map[string]bool{} // nodes that have not answered yet
	answered := make(chan string, len(k.loops()))
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
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

// hold lets events wait for those of a shard on another machine, unless it has just come.
func (k *supervisor) hold(shard int) {
	l := k.loops()[shard]
	l.coming.Lock()
	defer l.coming.Unlock()
	if l.isAway() {
		k.events.Hold(shard)
	}
}

// take makes a shard of a profile one of this machine. Events wait until its drain has told
// what happened there last: others go on with boards that come from it.
func (k *supervisor) take(shard int, p *part) {
	l := k.loops()[shard]
	l.coming.Lock()
	defer l.coming.Unlock()
	k.events.Hold(shard)
	l.part.Store(p)
}

// followNode asks a machine once.
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

// answerEvents answers another machine as soon as something has happened.
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

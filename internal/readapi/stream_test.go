package readapi

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
)

// moved is a move of a session in a message.
func moved(seq uint64, place int, board wamble.BoardID, session wamble.SessionID) Happened {
	return Happened{Seq: seq, Place: place,
		Move: Move{Board: board, Ply: int(seq), UCI: "e2e4", Session: session, At: noon}}
}

// at is the move of a board in a second.
func at(seq uint64, second int) Happened {
	h := moved(seq, 0, 1, 1)
	h.At, h.Ply = noon.Add(time.Duration(second)*time.Second), second
	return h
}

// drained is a shard with its drain: the message with number n has n%3 moves.
type drained struct {
	s       *Stream
	shard   int
	kept    bool // and so recalled
	through uint64
	telling bool
}

func (d *drained) list(after, through uint64) (told []Happened) {
	for seq := after + 1; seq <= through; seq++ {
		for place := range int(seq % 3) {
			told = append(told, moved(seq, place, wamble.BoardID(d.shard+1), 1))
		}
	}
	return told
}

// positions returns the place after each move.
func (d *drained) positions() (all position) {
	for _, h := range d.list(0, d.through) {
		all = append(all, place{h.Seq, h.Place + 1})
	}
	return all
}

// listen checks whether the stream has readers, as a drain does.
func (d *drained) listen(now time.Time) {
	if !d.s.Wanted(d.shard, d.through, now) {
		d.telling = false
	} else if !d.telling {
		d.telling = true
		after := d.through
		if d.kept {
			after -= min(after, 1000)
		}
		d.s.Add(d.shard, after, d.through, d.list(after, d.through))
	}
}

// drain brings n messages to the store, and adds their events, and perhaps some before.
func (d *drained) drain(now time.Time, n, before uint64) {
	d.listen(now)
	before = d.through - min(d.through, before)
	if d.through += n; d.telling {
		d.s.Add(d.shard, before, d.through, d.list(before, d.through))
	}
}

// TestStreamHasNoGap: a reader who continues from their last position gets each event of each
// shard once and in order, however the drains add them (twice, in parts, with earlier ones),
// also when they come back after a pause of some shards or all, and from the next process,
// where the shards begin in another order; or, if what they have missed is not retained, they
// are told so.
func TestStreamHasNoGap(t *testing.T) {
	const name = "5f2a91c0"
	resets := 0
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 22))
		kept, now := seed%5 > 0, noon
		s := &Stream{}
		drains := make([]drained, []int{1, 2, 4}[seed%3])
		begin := func() {
			s = &Stream{Shards: len(drains)}
			for i := range drains {
				d := &drains[i]
				d.s, d.shard, d.kept, d.telling = s, i, kept, false
			}
			for _, i := range random.Perm(len(drains)) {
				drains[i].listen(now)
			}
		}
		begin()
		to, _ := s.end(false)
		got := make([]position, len(drains))
		here := false
		last := to.at.id(name) // that the reader has got
		come := func() {
			at, err := positionOf(last, name, len(drains))
			if err != nil || at == nil {
				t.Fatalf("seed %d: %q is no place: %v", seed, last, err)
			}
			to = spot{at: at}
			if !here {
				s.enter()
			}
			here = true
		}
		leave := func() {
			if here {
				s.leave(now)
			}
			here = false
		}
		read := func(most int) {
			page, from, missed := s.read(name, &to)
			if missed {
				resets++
				if last = from.id(name); kept {
					t.Fatalf("seed %d: missed something that is kept, behind %s", seed, last)
				}
			}
			for i := range from { // the events that the reader goes without
				got[i] = slices.DeleteFunc(drains[i].positions(), func(p place) bool { return from[i].before(p) })
			}
			for _, e := range page[:min(most, len(page))] {
				had := got[e.shard]
				if len(had) > 0 && !had[len(had)-1].before(e.next()) {
					t.Fatalf("seed %d: %v of shard %d follows %v", seed, e.next(), e.shard, had[len(had)-1])
				}
				got[e.shard] = append(had, e.next())
				last, _, _ = strings.Cut(strings.TrimPrefix(string(e.text), "id: "), "\n")
			}
			if most < len(page) {
				come() // with the id of an event
			} else {
				last = to.at.id(name) // as counts tell it
			}
		}
		come()
		for range 150 {
			d := &drains[random.IntN(len(drains))]
			d.drain(now, random.Uint64N(8), random.Uint64N(4))
			switch random.IntN(12) {
			case 0:
				begin() // another process
				here = false
				come()
			case 1:
				leave()
			case 2, 3:
				come()
			}
			if random.IntN(3) == 0 {
				now = now.Add(readersReturn / 2)
			}
			for reads := random.IntN(3); here && reads > 0; reads-- {
				read([]int{1, streamPage}[random.IntN(2)])
			}
		}
		come()
		for i := range drains {
			drains[i].listen(now)
		}
		for range 10 {
			read(streamPage)
		}
		for i := range drains {
			if all := drains[i].positions(); !slices.Equal(got[i], all) {
				t.Fatalf("seed %d: read %d of %d of shard %d\n got %v\nwant %v", seed, len(got[i]), len(all), i, got[i],
					all)
			}
		}
	}
	if resets == 0 {
		t.Error("nobody was told that they have missed something")
	}
}

// TestStreamOrder: events from before the stream began are in order of time over all shards,
// so that a board that has travelled is played in order.
func TestStreamOrder(t *testing.T) {
	s := Stream{Shards: 2}
	s.Add(1, 0, 2, []Happened{at(1, 2), at(2, 5)})
	to := spot{at: position{{1, 0}, {1, 0}}}
	if page, _, missed := s.read("5f2a91c0", &to); len(page) > 0 || missed {
		t.Errorf("before all shards have begun: %v, missed %v", page, missed)
	}
	s.Add(0, 0, 3, []Happened{at(1, 1), at(2, 3), at(3, 4)})
	page, _, _ := s.read("5f2a91c0", &to)
	for i, e := range page {
		if e.happened.Ply != i+1 {
			t.Errorf("move %d is at %d", e.happened.Ply, i)
		}
	}
	if id := to.at.id("5f2a91c0"); len(page) != 5 || id != "5f2a91c0-4-0-3-0" {
		t.Errorf("%d events, id %s", len(page), id)
	}
}

// TestStreamForgets: the ring is bounded, and a reader too far behind, or behind what a gap
// has cut off, is told so.
func TestStreamForgets(t *testing.T) {
	var s Stream
	for seq := range uint64(3 * maxEvents) {
		s.Add(0, seq, seq+1, []Happened{moved(seq+1, 0, 1, 1)})
	}
	if n := len(s.events); n < maxEvents || n > maxEvents+maxEvents/8 {
		t.Errorf("%d events are kept, want about %d", n, maxEvents)
	}
	base := s.parts[0].base
	_, start, missed := s.read("5f2a91c0", &spot{at: position{{1, 0}}})
	if !missed || start[0] != base {
		t.Errorf("behind the beginning: missed %v, start %v, want %v", missed, start, base)
	}
	if page, _, missed := s.read("5f2a91c0", &spot{at: position{base}}); missed || len(page) != streamPage ||
		page[0].happened.Seq != s.events[0].happened.Seq {
		t.Errorf("at the base: missed %v, %d events", missed, len(page))
	}
	end, _ := s.end(false)
	seq := end.at[0].seq
	s.Add(0, seq+10, seq+11, []Happened{moved(seq+11, 0, 1, 1)})
	if page, _, missed := s.read("5f2a91c0", &end); !missed || len(page) != 1 {
		t.Errorf("behind a hole: missed %v, %d events, want 1", missed, len(page))
	}
	waiting := Stream{Shards: 2}
	for seq := range uint64(2 * maxEvents) {
		waiting.Add(0, seq, seq+1, []Happened{moved(seq+1, 0, 1, 1)})
	}
	if n := len(waiting.parts[0].fresh); n < maxEvents || n > maxEvents+maxEvents/8 {
		t.Errorf("%d events wait for a shard that does not begin, want about %d", n, maxEvents)
	}
	waiting.Add(1, 0, 0, nil)
	base = waiting.parts[0].base
	if page, _, missed := waiting.read("5f2a91c0", &spot{at: position{base, {1, 0}}}); missed ||
		len(page) != streamPage || base.before(place{maxEvents / 2, 0}) {
		t.Errorf("when it has begun, behind %v: missed %v, %d events", base, missed, len(page))
	}
}

// TestStreamRests: events are not kept without readers. A new reader misses nothing that
// happens afterwards; one who comes back gets what they have missed if it is added again, and
// else a reset, but not before that is decided.
func TestStreamRests(t *testing.T) {
	for _, kept := range []bool{true, false} {
		var s Stream
		now := noon
		wanted := func(through uint64, want bool) {
			t.Helper()
			if s.Wanted(0, through, now) != want {
				t.Errorf("at %v: wanted is %v", now.Sub(noon), !want)
			}
		}
		if _, known := s.end(false); known {
			t.Error("a stream that nobody has begun has an end")
		}
		wanted(3, false)
		if !kept {
			s.Expect(now)
			wanted(3, true)
			now = now.Add(readersReturn)
		}
		wanted(4, false)
		s.enter()
		wanted(4, true)
		s.Add(0, 4, 5, []Happened{moved(5, 0, 1, 1)})
		now = now.Add(time.Hour)
		wanted(5, true)
		old := spot{at: position{{5, 0}}}
		s.read("5f2a91c0", &old)
		s.leave(now)
		now = now.Add(readersReturn - 1)
		wanted(5, true)
		s.Add(0, 5, 6, []Happened{moved(6, 0, 1, 1)})
		now = now.Add(1)
		wanted(6, false)
		if len(s.events) > 0 {
			t.Errorf("%d events are kept for nobody", len(s.events))
		}
		wanted(7, false)

		s.enter()
		fresh, known := s.end(false)
		if !known || fresh.at[0] != (place{8, 0}) {
			t.Errorf("who comes begins at %v, %v", fresh, known)
		}
		older := spot{at: position{{4, 0}}} // behind what the stream had
		for _, to := range []*spot{&old, &older} {
			before := to.at[0]
			if page, _, missed := s.read("5f2a91c0", to); missed || to.at[0] != before || len(page) > 0 {
				t.Errorf("the reader is told %v up to %v, missed %v, before it is known what happened", page, to.at,
					missed)
			}
		}
		wanted(8, true)
		want := 3
		if kept {
			s.Add(0, 3, 8, []Happened{moved(4, 0, 1, 1), moved(5, 0, 1, 1), moved(6, 0, 1, 1), moved(8, 0, 1, 1)})
		} else {
			want = 1
			s.Add(0, 7, 8, []Happened{moved(8, 0, 1, 1)})
		}
		s.Add(0, 8, 9, []Happened{moved(9, 0, 1, 1)})
		if page, _, missed := s.read("5f2a91c0", &fresh); missed || len(page) != 2 || page[0].happened.Seq != 8 {
			t.Errorf("kept %v: who has come meanwhile: missed %v, %v", kept, missed, page)
		}
		if page, _, missed := s.read("5f2a91c0", &old); missed == kept || len(page) < want {
			t.Errorf("kept %v: who comes back: missed %v, %v", kept, missed, page)
		}
		if page, _, missed := s.read("5f2a91c0", &older); missed == kept || kept && len(page) != 5 {
			t.Errorf("kept %v: who comes back from further: missed %v, %v", kept, missed, page)
		}
	}
}

// TestStreamRestsInPart: a reader who comes back while one shard is paused and another is not
// gets what they have missed of both, in order of time.
func TestStreamRestsInPart(t *testing.T) {
	s := Stream{Shards: 2}
	first := []Happened{at(1, 1), at(2, 3)}
	s.Add(0, 0, 2, first)
	s.Add(1, 0, 2, []Happened{at(1, 2), at(2, 4)})
	to := spot{at: position{{1, 0}, {1, 0}}}
	if page, _, _ := s.read("5f2a91c0", &to); len(page) != 4 {
		t.Fatalf("%d events before the rest", len(page))
	}
	to = spot{at: position{{1, 1}, {1, 0}}} // the reader has only the first
	if s.Wanted(0, 2, noon) || len(s.events) > 0 {
		t.Fatal("the first shard does not rest")
	}
	s.enter()
	if !s.Wanted(1, 2, noon) {
		t.Fatal("the second is not wanted")
	}
	s.Add(1, 2, 3, []Happened{at(3, 5)})
	if page, _, missed := s.read("5f2a91c0", &to); len(page) > 0 || missed {
		t.Errorf("while the first rests: %v, missed %v", page, missed)
	}
	s.Add(0, 0, 2, first)
	page, _, missed := s.read("5f2a91c0", &to)
	for i, e := range page {
		if e.happened.Ply != i+2 {
			t.Errorf("move %d is at %d", e.happened.Ply, i)
		}
	}
	if id := to.at.id("5f2a91c0"); len(page) != 4 || missed || id != "5f2a91c0-3-0-4-0" {
		t.Errorf("%d events, missed %v, id %s", len(page), missed, id)
	}
}

// TestStreamsFollow: machines follow each other's shards, which move between them. A reader
// of each gets every event of every shard once and in order, without a reset; an event that
// has to wait for an older one, does.
func TestStreamsFollow(t *testing.T) {
	const shards, machines, name = 3, 2, "5f2a91c0"
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 5))
		var streams [machines]*Stream
		var readers [machines]spot
		var got [machines][shards]position
		var through [shards]uint64
		var owner [shards]int
		list := func(shard int, after, through uint64) []Happened {
			d := drained{shard: shard}
			return d.list(after, through)
		}
		for m := range streams {
			streams[m] = &Stream{Shards: shards}
			streams[m].enter()
		}
		follow := func(m, shard, most int) bool {
			s := streams[m]
			after, _ := s.Known(shard)
			first, last, end, page, known := streams[owner[shard]].Since(shard, after, most)
			if !known {
				t.Fatalf("seed %d: its owner does not know shard %d", seed, shard)
			}
			s.Meet(shard, end)
			s.Add(shard, first, last, page)
			return last < end
		}
		for shard := range shards {
			owner[shard] = random.IntN(machines)
			streams[owner[shard]].Add(shard, 0, 0, nil)
		}
		for m := range streams {
			for shard := range shards {
				follow(m, shard, 9)
			}
			readers[m], _ = streams[m].end(false)
		}
		read := func(m int) {
			page, _, missed := streams[m].read(name, &readers[m])
			if missed {
				t.Fatalf("seed %d: machine %d has lost something", seed, m)
			}
			for _, e := range page {
				got[m][e.shard] = append(got[m][e.shard], e.next())
			}
		}
		for range 300 {
			m, shard := random.IntN(machines), random.IntN(shards)
			switch random.IntN(5) {
			case 0, 1:
				after := through[shard]
				through[shard] += uint64(random.IntN(4))
				streams[owner[shard]].Add(shard, after, through[shard], list(shard, after, through[shard]))
			case 2:
				follow(m, shard, 1+random.IntN(5))
			case 3: // the next owner has the retained events
				owner[shard] = m
				first := through[shard] - min(through[shard], uint64(200))
				streams[m].Add(shard, first, through[shard], list(shard, first, through[shard]))
			case 4:
				read(m)
			}
		}
		for m := range streams {
			for shard := range shards {
				for follow(m, shard, 5) {
				}
			}
			for range 20 {
				read(m)
			}
			for shard := range shards {
				d := drained{shard: shard, through: through[shard]}
				if !slices.Equal(got[m][shard], d.positions()) {
					t.Fatalf("seed %d: machine %d was told %v of shard %d, want %v", seed, m, got[m][shard], shard,
						d.positions())
				}
			}
		}
	}

	s := &Stream{Shards: 2}
	s.enter()
	s.Add(0, 0, 0, nil)
	s.Add(1, 0, 0, nil)
	reader, _ := s.end(false)
	s.SetBarrier(1, 0, time.Time{})
	s.Add(0, 0, 1, []Happened{at(1, 2)})
	if page, _, _ := s.read(name, &reader); len(page) != 0 {
		t.Errorf("something of the other shard may be older, and %d were told", len(page))
	}
	s.Add(1, 0, 1, []Happened{at(1, 1)})
	if page, _, _ := s.read(name, &reader); len(page) != 2 || page[0].shard != 1 {
		t.Errorf("then %d were told", len(page))
	}
	s.SetBarrier(1, 3, noon.Add(5*time.Second))
	for _, c := range []struct {
		shard int
		seq   uint64
		at    int
		told  int
	}{
		{0, 2, 4, 1}, // older than what waits
		{0, 3, 5, 0},
		{1, 2, 3, 1}, // older, and not the last that the others wait for
		{1, 3, 5, 2},
	} {
		s.Add(c.shard, c.seq-1, c.seq, []Happened{at(c.seq, c.at)})
		if page, _, _ := s.read(name, &reader); len(page) != c.told {
			t.Errorf("message %d of shard %d: %d events were told, want %d", c.seq, c.shard, len(page), c.told)
		}
	}
	s.Forget(1)
	if _, known := s.end(false); known {
		t.Error("the end of a shard is known that was forgotten")
	}
	if _, _, _, _, known := s.Since(1, 0, 9); known {
		t.Error("what happened in a shard is known that was forgotten")
	}
}

// TestStreamAsked: a request for readers of its own keeps a shard awake, but does not count
// as a reader.
func TestStreamAsked(t *testing.T) {
	s := &Stream{}
	s.Asked(noon)
	for _, c := range []struct {
		after  time.Duration
		wanted bool
	}{{time.Second, true}, {readersReturn, false}} {
		if now := noon.Add(c.after); s.Wanted(0, 1, now) != c.wanted || s.Observed(now) {
			t.Errorf("after %v: got %v and %v", c.after, s.Wanted(0, 1, now), s.Observed(now))
		}
	}
}

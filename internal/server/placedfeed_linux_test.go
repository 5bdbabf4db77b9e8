package server

import (
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/store/postgres/pgtest"
)

// site returns where a machine answers HTTP.
func (m *machine) site() string { return strings.Replace(m.ip, "udp:", "http:", 1) }

// TestPlacedFeed: a reader receives every game that has ended on any machine once, behind one
// cursor, from whichever machine it asks: while partitions move, and when a machine crashes.
func TestPlacedFeed(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	machines := placedMachines(t, db, oneDies, "127.0.0.45", "127.0.0.46")
	for _, m := range machines {
		m.kill()
		m.text += "(def max-moves-per-board 6)\n"
	}
	machines[0].begin(t)
	share(t, 4, machines[0])
	reader := newFeedReader(t)
	c := gather(t, machines[0].ip, 4)
	c.play()
	c.more(t, 200)
	reader.follow(machines[0].site())
	machines[1].begin(t) // it gets its share
	for range 4 {
		c.more(t, 100)
		reader.follow(machines[0].site())
	}
	share(t, 2, machines...)
	for _, m := range machines {
		c.more(t, 200)
		reader.follow(m.site())
	}
	machines[1].kill()
	reader.follow(machines[0].site())
	share(t, 4, machines[0])
	c.more(t, 200)
	reader.follow(machines[0].site())
	machines[1].begin(t)
	share(t, 2, machines...)
	c.more(t, 200)
	c.finish()
	store := openPostgres(t, db)
	var ended map[wamble.BoardID]bool
	until(t, "the reader has all games", func() bool {
		reader.follow(machines[1].site())
		ended = finished(t, store)
		return len(reader.told) >= len(ended)
	})
	for _, m := range machines {
		m.child.end()
	}
	reader.check(ended)
	if n := strings.Count(reader.cursor, "-"); n != 4 {
		t.Errorf("the cursor %s has %d numbers, want one for each part", reader.cursor, n)
	}
	c.verify(t, store)
}

// TestPlacedEvents: observers on two machines receive every move of both once, in order on
// each board: while partitions move, and when a machine crashes. An observer of a crashed
// machine goes on at another one.
func TestPlacedEvents(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	machines := placedMachines(t, db, oneDies, "127.0.0.47", "127.0.0.48")
	share(t, 2, machines...)
	at := []int{0, 1} // the machine that each observer asks first
	var observers []*observer
	for i := range at {
		tries := 0
		o := observeAll(t, func() string { // when one does not answer the next one is asked
			tries++
			return machines[(at[i]+tries-1)%2].site() + "/api/events"
		})
		observers = append(observers, o)
	}
	for _, o := range observers {
		o.here()
	}
	c := gather(t, machines[0].ip, 3)
	for _, p := range gather(t, machines[1].ip, 3).players {
		p.crowd = c
		c.players = append(c.players, p)
	}
	c.think = 10 * time.Millisecond // a server keeps only so many moves for an observer that was away
	c.play()
	c.more(t, 300)
	machines[1].kill()
	share(t, 4, machines[0])
	c.more(t, 300)
	machines[1].begin(t)
	share(t, 2, machines...)
	c.more(t, 300)
	c.finish()
	store := openPostgres(t, db)
	for _, m := range machines {
		until(t, "the database has everything of "+m.name, func() bool { return m.behind(t) == 0 })
	}
	stored := func() int { return pgtest.Query[int](t, db, `SELECT count(*) FROM moves`) }
	for i, o := range observers {
		until(t, "the observer was told all moves", func() bool { moves, _ := o.seen(); return moves >= stored() })
		if o.end(); o.moves != stored() {
			t.Errorf("observer %d was told %d moves, want %d", i, o.moves, stored())
		}
	}
	for _, m := range machines {
		m.child.end()
	}
	c.verify(t, store)
}

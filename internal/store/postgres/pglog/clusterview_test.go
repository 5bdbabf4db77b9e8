package pglog_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/watchtest"
	"wamble/runner/logstore"
)

// heard records the notes that a node has received.
type heard struct {
	mu    sync.Mutex
	notes []string
}

func (h *heard) list() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.notes, " ")
}

// peer is a node that reads the cluster's view, with an address of its name.
func peer(t *testing.T, db postgres.Options, name string) (*pglog.Log, *heard) {
	t.Helper()
	h := &heard{}
	l := pglog.Open(pglog.Options{Database: db, Node: name, Beat: beat, Lease: lease,
		Heartbeat: func() (address, key, note string) { return "at " + name, "key of " + name, "I am " + name },
		OnNote: func(_ int64, name, value string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.notes = append(h.notes, name+"="+value)
		},
	})
	t.Cleanup(l.Close)
	return l, h
}

func claimPart(t *testing.T, l *pglog.Log, part int) logstore.Held {
	t.Helper()
	h, err := l.Claim(t.Context(), pglog.PartName("main", part), holder(t))
	ok(t, err)
	t.Cleanup(func() { letGo(h) })
	return h
}

// seen is a node's view of three parts: the address and key of each node, and the holder of each
// part.
func seen(l *pglog.Log) string {
	w, _ := l.ClusterView("main", 3)
	var nodes, parts []string
	for _, n := range w.Nodes {
		nodes = append(nodes, fmt.Sprintf("%s %s, %s, %s", n.Name, n.Address, n.Key, n.Note))
	}
	for _, p := range w.Parts {
		parts = append(parts, p.Holder)
	}
	return strings.Join(nodes, "; ") + ": " + strings.Join(parts, ",")
}

// TestParts: the parts of a log have holders of their own. Each of them is fenced by itself,
// and one heartbeat of a node covers all that it holds.
func TestParts(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	a, _ := peer(t, db, "a")
	b, _ := peer(t, db, "b")
	first, second, third := claimPart(t, a, 0), claimPart(t, a, 1), claimPart(t, b, 2)
	add(t, first, "of the first")
	add(t, second, "of the second")
	add(t, third, "of the third")
	const both = "a at a, key of a, I am a; b at b, key of b, I am b: a,a,b"
	for _, l := range []*pglog.Log{a, b} {
		watchtest.Until(t, "both are seen", func() bool { return seen(l) == both })
	}
	if got := pgtest.Query[int](t, db, `SELECT count(*) FROM nodes`); got != 2 {
		t.Errorf("%d rows of nodes, want one for each", got)
	}

	ok(t, second.Release(t.Context(), "b")) // a part moves
	moved := claimPart(t, b, 1)
	if got := replay(t, moved); got != "1:of the second" {
		t.Errorf("the part that moved has %q", got)
	}
	add(t, first, "goes on")
	if !a.Holds("main") || a.Holds("main/1") || !b.Holds("main/1") {
		t.Error("a part that moved took another one with it, or stayed")
	}

	a.Close() // it sends no heartbeat any more, but could still write
	watchtest.Until(t, "only b is seen, and may claim", func() bool {
		w, _ := b.ClusterView("main", 3)
		return len(w.Nodes) == 1 && w.Nodes[0].Name == "b" && w.Parts[0].Free
	})
	taken := claimPart(t, b, 0)
	if got := replay(t, taken); got != "1:of the first 2:goes on" {
		t.Errorf("the part of the dead has %q", got)
	}
	if _, err := first.Append(t.Context(), []byte("late")); err == nil {
		t.Error("a part has two holders")
	}
	add(t, third, "goes on")
}

// TestLostNodes: a node that ends while it holds a part is listed as lost until it is back, or for a day; one
// that ends in order is not.
func TestLostNodes(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	a, _ := peer(t, db, "a")
	lost := func() string {
		v, _ := a.ClusterView("main", 1)
		var names []string
		for _, n := range v.Lost {
			names = append(names, n.Name+" "+n.Address)
		}
		return strings.Join(names, "; ")
	}
	until := func(what, want string) {
		t.Helper()
		watchtest.Until(t, what, func() bool { return lost() == want })
	}
	a.ClusterView("main", 1)
	left, _ := peer(t, db, "left")
	left.ClusterView("main", 1)
	dead, _ := peer(t, db, "dead")
	claimPart(t, dead, 1)
	watchtest.Until(t, "all are seen", func() bool { v, _ := a.ClusterView("main", 1); return len(v.Nodes) == 3 })
	left.Close()
	dead.Close()
	until("the dead is lost, the other one has left", "dead at dead")
	claimPart(t, a, 2) // deletes rows that are too old
	pgtest.Execute(t, db, `UPDATE nodes SET seen_at = seen_at - interval '23 hours' WHERE node LIKE 'dead/%'`)
	claimPart(t, a, 3)
	until("it is listed for a day", "dead at dead")

	back, _ := peer(t, db, "dead")
	back.ClusterView("main", 1)
	until("it is back", "")
	back.Close()
	watchtest.Until(t, "it has left", func() bool { v, _ := a.ClusterView("main", 1); return len(v.Nodes) == 1 })
	if got := pgtest.Query[int](t, db, `SELECT count(*) FROM nodes`); got != 1 || lost() != "" {
		t.Errorf("lost: %q; %d rows, want that of a alone", lost(), got)
	}
}

// TestNotes: all nodes receive the notes of each, in the order in which they were written; a
// later node receives those that hold.
func TestNotes(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	a, _ := peer(t, db, "a")
	b, hears := peer(t, db, "b")
	b.ClusterView("main", 1)
	for _, n := range []string{"bans 1", "news/1 x", "bans 2", "news/2 y"} {
		name, value, _ := strings.Cut(n, " ")
		ok(t, a.Note(t.Context(), "main", name, value))
		watchtest.Until(t, n, func() bool { return strings.HasSuffix(hears.list(), name+"="+value) })
	}
	if got, want := hears.list(), "bans=1 news/1=x bans=2 news/2=y"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	ok(t, a.Note(t.Context(), "other", "bans", "of another log"))
	ok(t, b.Forget(t.Context(), "main", "news/", time.Hour))
	all, err := a.Notes(t.Context(), "main")
	ok(t, err)
	if got := slices.Sorted(maps.Keys(all)); len(got) != 3 || all["bans"] != "2" {
		t.Errorf("got %v, want three notes", all)
	}
	ok(t, b.Forget(t.Context(), "main", "news/", 0))
	all, err = a.Notes(t.Context(), "main")
	ok(t, err)
	if value, kept := all["news/2"]; len(all) != 2 || !kept || value != "" {
		t.Errorf("got %v, want the row of the newest, without its value", all)
	}
	ok(t, b.Note(t.Context(), "main", "bans", "3")) // its version is not that of a note that was deleted
	watchtest.Until(t, "the last", func() bool { return strings.HasSuffix(hears.list(), "bans=3") })
	c, late := peer(t, db, "c")
	c.ClusterView("main", 1)
	watchtest.Until(t, "who comes late hears what holds", func() bool { return late.list() == "news/2= bans=3" })
}

// TestOldNode: a node whose version has no key, and has made the tables without one, is seen without a key
// beside a newer one, and goes on.
func TestOldNode(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t)
	old, _ := peer(t, db, "old") // makes the tables
	old.ClusterView("main", 1)
	watchtest.Until(t, "it is seen", func() bool { return strings.HasPrefix(seen(old), "old ") })
	old.Close()
	pgtest.Execute(t, db, `ALTER TABLE shard_nodes DROP COLUMN key; DELETE FROM nodes; DELETE FROM shard_nodes`)
	beat := func() {
		pgtest.Execute(t, db, `INSERT INTO nodes (shard, node, seen_at) VALUES ('main', 'old/1', clock_timestamp())
				ON CONFLICT (shard, node) DO UPDATE SET seen_at = EXCLUDED.seen_at;
			INSERT INTO shard_nodes (shard, node, address, note) VALUES ('main', 'old/1', 'at old', 'I am old')
				ON CONFLICT (shard, node) DO UPDATE SET address = EXCLUDED.address, note = EXCLUDED.note`)
	}
	beat()
	a, _ := peer(t, db, "a")
	a.ClusterView("main", 1)
	watchtest.Until(t, "both are seen", func() bool {
		beat()
		return strings.HasPrefix(seen(a), "a at a, key of a, I am a; old at old, , I am old")
	})
}

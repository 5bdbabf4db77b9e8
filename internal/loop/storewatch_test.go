package loop

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wamble"
	"wamble/internal/journal"
	"wamble/internal/profile"
	"wamble/internal/registry"
	"wamble/internal/store"
	"wamble/internal/watchtest"
)

// watched is a runtime that only logs.
func watched(s Store) (*Runtime, *watchtest.Log) {
	log := &watchtest.Log{}
	return New(Options{Name: "p", Database: Database{Store: s, Name: "the store"},
		Log: slog.New(slog.NewTextHandler(log, nil))}), log
}

// TestTroubleIsRepeated: an error that only the host can end is logged with its advice once a
// minute as long as it lasts, and at once when it comes again.
func TestTroubleIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, log := watched(nil)
		wrong := &store.Unusable{Advice: "Check db-pass", Err: errors.New("wrong password")}
		told := func() int { return strings.Count(log.String(), `err="wrong password" advice="Check db-pass"`) }
		for range 150 { // as many attempts, one each second
			rt.watch.note(cannotAsk, wrong)
			time.Sleep(time.Second)
		}
		if got, want := told(), 3; got != want {
			t.Errorf("told %d times within 150 s, want %d", got, want)
		}
		if got, want := rt.watch.trouble(), "wrong password. Check db-pass"; got != want {
			t.Errorf("the status says %q, want %q", got, want)
		}
		if rt.watch.note(cannotAsk, nil); rt.watch.trouble() != "" {
			t.Errorf("it is over, and the status says %q", rt.watch.trouble())
		}
		if rt.watch.note(cannotAsk, wrong); told() != 4 {
			t.Errorf("when it comes again it is told %d times in all, want 4", told())
		}
	})
}

// TestWentBack: a store that has gone back is a trouble until it has everything again, and
// stays one if something is lost.
func TestWentBack(t *testing.T) {
	for _, c := range []struct {
		name          string
		back          journal.Rollback
		log, trouble  string
		level, advice string
	}{
		{"at first", journal.Rollback{From: 90, To: 50}, "the database has gone back", "it has gone back by 40 messages", "ERROR", "is brought there again"},
		{"it has all again", journal.Rollback{From: 90, To: 50, Brought: true}, "has again all that it had lost", "", "WARN", ""},
		{"some are lost", journal.Rollback{From: 90, To: 50, Brought: true, Lost: 7}, "has lost messages", "of which 7 were kept no more and are lost", "ERROR", "Raise journal-keep"},
		{"some is refused", journal.Rollback{From: 90, To: 50, Brought: true, Refused: 3}, "refuses some of what it had lost", "refuses 3 changes", "ERROR", "dead letters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt, log := watched(nil)
			rt.watch.onRollback(journal.Rollback{From: 90, To: 50})
			before := log.String()
			rt.watch.onRollback(c.back)
			said := strings.TrimPrefix(log.String(), before)
			if !strings.Contains(said, "level="+c.level) || !strings.Contains(said, c.log) ||
				!strings.Contains(said, "had=90 has=50 messages=40") {
				t.Errorf("the log says %q, want %q", said, c.log)
			}
			got := rt.watch.trouble()
			if (got == "") != (c.trouble == "") || !strings.Contains(got, c.trouble) ||
				!strings.Contains(got, c.advice) {
				t.Errorf("the status says %q, want %q and %q", got, c.trouble, c.advice)
			}
		})
	}
}

// TestBuriedIsLogged: dead letters are logged with their reason, and the command that shows
// them.
func TestBuriedIsLogged(t *testing.T) {
	rt, log := watched(nil)
	rt.logDeadLetters(3, errors.New("a board without a game"))
	for _, want := range []string{"level=ERROR", "'wamble runner dead-letters list'", "dead_letters=3",
		`reason="a board without a game"`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log says %q, want %q", log, want)
		}
	}
}

// silent is a store that does not answer.
type silent struct{ Store }

func (silent) Cursor(ctx context.Context, _ store.JournalID, _ string) (uint64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestEndIsNotAway: a run that ends during a query does not take the store for away.
func TestEndIsNotAway(t *testing.T) {
	rt := run(t)
	rt.stop()
	<-rt.ended
	rt.o.Database.Store = silent{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := rt.watch.probe(ctx); err == nil || rt.StoreState().Away {
		t.Errorf("got %v, away %v", err, rt.StoreState().Away)
	}
}

// TestRunAgainLooksAnew: a profile that is run again, as a partition that returns to its
// machine, does not go on as if the store were away because the run before ended so.
func TestRunAgainLooksAnew(t *testing.T) {
	rt := run(t)
	wrong := &store.Unusable{Advice: "Check db-pass", Err: errors.New("wrong password")}
	rt.watch.away.Store(true)
	rt.watch.drained(wrong)
	rt.watch.note(cannotAsk, wrong)
	if s := rt.StoreState(); !s.Away || !s.Refuses || s.Trouble == "" {
		t.Fatalf("at first: %+v", s)
	}
	rt.stop()
	<-rt.ended
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	watchtest.Until(t, "it runs again", func() bool { up, _ := rt.Stage(); return up })
	if s := rt.StoreState(); s.Away || s.Refuses || s.Trouble != "" {
		t.Errorf("then: %+v", s)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// earlier is a store that has gone back to its first state.
type earlier struct{ Store }

func (earlier) Cursor(context.Context, store.JournalID, string) (uint64, error) { return 0, nil }

// TestHasGoneBack: a store that has less than has left the journal for it gives no boards to a shard.
func TestHasGoneBack(t *testing.T) {
	rt := run(t)
	watchtest.Until(t, "the store has something", func() bool { return rt.drain.Load().Drained() > 0 })
	if back, err := rt.hasGoneBack(t.Context()); back || err != nil {
		t.Errorf("at first: %t, %v", back, err)
	}
	rt.stop()
	<-rt.ended
	rt.o.Database.Store = earlier{rt.o.Database.Store}
	if rt.drain.Load() == nil {
		t.Fatal("the drain was dropped")
	}
	if back, err := rt.hasGoneBack(t.Context()); !back || err != nil {
		t.Errorf("after it has gone back: %t, %v", back, err)
	}
}

// sequence is a store that gives out numbers.
type sequence struct {
	Store
	last int64
}

func (s *sequence) Lease(_ context.Context, _ wamble.Sequence, n int) ([]wamble.Block, error) {
	s.last += int64(n)
	return []wamble.Block{{First: s.last - int64(n) + 1, Count: int64(n)}}, nil
}

// TestFreshNumbers: a store that goes back, as a standby that was behind, gives numbers out
// again. No profile of it gets one that itself or another one has.
func TestFreshNumbers(t *testing.T) {
	s, all := &sequence{}, registry.New()
	log := slog.New(slog.DiscardHandler)
	db := Database{Store: s, Registry: all}
	red, blue := New(Options{Name: "red", Database: db, Log: log}), New(Options{Name: "blue", Database: db, Log: log})
	had := map[int64]string{}
	lease := func(rt *Runtime, n int) {
		t.Helper()
		blocks, err := rt.freshLease(t.Context(), profile.Lease{Sequence: wamble.BoardIDs, Count: n})
		if err != nil || len(blocks) != 1 || blocks[0].Count != int64(n) {
			t.Fatalf("got %v, %v", blocks, err)
		}
		for id := blocks[0].First; id < blocks[0].First+blocks[0].Count; id++ {
			if other := had[id]; other != "" {
				t.Fatalf("%s gets number %d, which %s has", rt.o.Name, id, other)
			}
			had[id] = rt.o.Name
		}
	}
	lease(red, 10)
	lease(blue, 1000)
	s.last = 5
	lease(red, 10)
	if s.last > 1030 {
		t.Errorf("the store is at %d", s.last)
	}
	lease(blue, 10)
	// Numbers that were given back may be leased to any profile.
	back := []wamble.Block{{First: s.last - 9, Count: 10}}
	all.Return(wamble.BoardIDs, back)
	s.last -= 10
	for id := s.last + 1; id <= s.last+10; id++ {
		delete(had, id)
	}
	if lease(red, 10); had[back[0].First] != "red" {
		t.Errorf("the numbers %v are nobody's", back)
	}
}

// changes is a store that returns changes of trust.
type changes struct {
	Store
	asked chan time.Time
}

func (s *changes) TrustChanges(context.Context, int64) ([]wamble.TrustLevel, int64, error) {
	s.asked <- time.Now()
	return nil, 0, nil
}

// TestTrustIsAskedEverySecond: a change of trust in the database is found within a second.
func TestTrustIsAskedEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &changes{asked: make(chan time.Time)}
		rt, _ := watched(s)
		rt.instance.Store(&instance{})
		ctx, cancel := context.WithCancel(t.Context())
		go rt.watch.run(ctx)
		last := time.Now()
		for range 5 {
			now := <-s.asked
			if d := now.Sub(last); d > time.Second {
				t.Errorf("asked after %v, want a second at most", d)
			}
			last = now
		}
		cancel()
		synctest.Wait()
	})
}

package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// batchCases test what a batch is: a step of the cursor, applied as a whole or not at all.
var batchCases = []testCase{
	{"the cursor", func(w *world) {
		w.apply(newSession(1))
		w.apply(newSession(2))
		moved := func(name string, after, through uint64, want uint64) {
			w.Helper()
			err := w.Apply(w.Context(), store.Batch{Journal: w.journal, Profile: Profile, After: after,
				Through: through, Intents: []intent.Intent{newSession(9)}})
			var m *store.CursorMoved
			if !errors.As(err, &m) || m.At != want || errors.Is(err, store.ErrTransient) {
				w.Errorf("%s: got %v, want the cursor at %d", name, err, want)
			}
		}
		moved("the same batch again", 1, 2, 2)
		moved("the first again", 0, 1, 2)
		moved("an overlap", 1, 5, 2)
		moved("a gap", 3, 4, 2)
		_, err := w.SessionByID(w.Context(), 9)
		w.notFound("what they carried", err)
		at, err := w.Cursor(w.Context(), w.journal, Profile)
		w.must(err)
		w.equal("cursor", at, uint64(2))
		w.must(w.Apply(w.Context(), store.Batch{Journal: w.journal, Profile: Profile, After: 2, Through: 40}))
		at, err = w.Cursor(w.Context(), w.journal, Profile)
		w.must(err)
		w.equal("after an empty batch of 38 messages", at, uint64(40))
	}},
	{"each journal and profile has a cursor", func(w *world) {
		w.apply(newSession(1))
		for _, q := range []struct {
			name    string
			journal store.JournalID
			profile string
		}{{"other profile", w.journal, "beta"}, {"other journal", store.JournalID{7}, Profile}} {
			at, err := w.Cursor(w.Context(), q.journal, q.profile)
			w.must(err)
			w.equal(q.name, at, uint64(0))
			w.must(w.Apply(w.Context(), store.Batch{Journal: q.journal, Profile: q.profile, Through: 3}))
			err = w.Apply(w.Context(),
				store.Batch{Journal: store.JournalID{8}, Profile: q.profile, After: 3, Through: 4})
			var m *store.CursorMoved
			if !errors.As(err, &m) || m.At != 0 {
				w.Errorf("an unknown journal that starts at 3: got %v, want the cursor at 0", err)
			}
		}
	}},
	{"all or nothing", func(w *world) {
		w.apply(newSession(1), newBoard(3))
		bad := []intent.Intent{newSession(2), newBoard(4), move(3, 1, 1, true), move(99, 1, 1, true),
			hold(3, 1, 30, 90)}
		w.refuses(bad, 3)
		w.equal("moves", len(w.board(3).Moves), 0)
		w.equal("games", w.session(1).Stats.Games, 0)
		_, err := w.SessionByID(w.Context(), 2)
		w.notFound("session 2", err)
		w.apply(newSession(2), newBoard(4), move(3, 1, 1, true), hold(3, 1, 30, 90))
		w.equal("without the bad one", len(w.board(3).Moves), 1)
	}},
	{"session, board, reservation and moves together", func(w *world) {
		w.apply(newSession(1), newSession(2), link(1, 7, 10), newBoard(3),
			&intent.UpdateBoard{Board: 3, FEN: afterE4, Status: wamble.Reserved, Version: 3, At: at(30)},
			&intent.UpdateBoardAssignmentTime{Board: 3, At: at(30)},
			move(3, 1, 1, true), move(3, 2, 2, true), hold(3, 1, 30, 90),
			&intent.UpdateSessionLastSeen{Session: 2, At: at(31)})
		b := w.board(3)
		w.equal("status", b.Status, wamble.Reserved)
		w.equal("fen", b.FEN, afterE4)
		w.equal("moves", len(b.Moves), 2)
		w.equal("holder", b.Holder.Session, wamble.SessionID(1))
	}},
	{"a probe writes nothing", func(w *world) {
		rejected, err := w.Probe(w.Context(), w.next(newSession(1), newBoard(3), move(3, 1, 1, true)))
		w.must(err)
		w.equal("rejected", len(rejected), 0)
		_, err = w.SessionByID(w.Context(), 1)
		w.notFound("session", err)
		cursor, err := w.Cursor(w.Context(), w.journal, Profile)
		w.must(err)
		w.equal("cursor", cursor, uint64(0))
		// An intent that depends on a rejected one is rejected too.
		w.refuses([]intent.Intent{newSession(1), &intent.CreateBoard{Board: 3, At: at(1)}, newBoard(4),
			move(3, 1, 1, true), move(4, 1, 1, true)}, 1, 3)
	}},
	{"rows that are partly there", func(w *world) {
		w.apply(newSession(1), newSession(2), newBoard(3), move(3, 1, 1, true),
			&intent.RecordPayout{Board: 3, Session: 1, Points: 2, At: at(60)})
		w.apply(newSession(2), newSession(3), newBoard(3), newBoard(4), move(3, 1, 1, true), move(3, 3, 2, true),
			move(4, 1, 1, true),
			&intent.RecordPayout{Board: 3, Session: 1, Points: 2, At: at(60)},
			&intent.RecordPayout{Board: 3, Session: 3, Points: 1, At: at(60)})
		w.equal("session 1", w.session(1).Stats, wamble.Stats{Score: 2, Games: 2})
		w.equal("session 3", w.session(3).Stats, wamble.Stats{Score: 1, Games: 1})
	}},
	{"payouts that are partly there, or come twice", func(w *world) {
		pay := func(b wamble.BoardID, s wamble.SessionID, points float64) intent.Intent {
			return &intent.RecordPayout{Board: b, Session: s, Points: points, At: at(60)}
		}
		w.apply(newSession(1), newSession(2), newBoard(3), newBoard(4), pay(3, 1, 2))
		w.apply(pay(3, 1, 2), pay(3, 2, 0.12345), pay(4, 1, 1), pay(4, 1, 1), pay(4, 2, -0.33335))
		w.equal("session 1", w.session(1).Stats.Score, 3.0)
		w.equal("session 2", w.session(2).Stats.Score, -0.2099) // 0.1235 - 0.3334
		w.refuses([]intent.Intent{pay(3, 1, 2), pay(9, 1, 2), pay(4, 2, 1)}, 1)
	}},
	{"every size of run", everySize},
	{"times to the microsecond", func(w *world) {
		zone := time.FixedZone("east", 5*3600)
		odd := time.Date(2026, 12, 31, 23, 59, 59, 999999999, zone)
		w.apply(&intent.CreateSession{Session: 1, Token: token(1).Hash(), At: odd})
		w.equal("created", w.session(1).Created, time.Date(2026, 12, 31, 18, 59, 59, 999999000, time.UTC))
	}},
	{"a canceled batch writes nothing", func(w *world) {
		ctx, cancel := context.WithCancel(w.Context())
		cancel()
		err := w.Apply(ctx, w.next(newSession(1)))
		if !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrTransient) {
			w.Errorf("got %v, want a transient error that is context.Canceled", err)
		}
		_, err = w.SessionByID(w.Context(), 1)
		w.notFound("session", err)
	}},
	{"a closed store is away", func(w *world) {
		w.must(w.Close())
		if err := w.Apply(w.Context(), w.next(newSession(1))); !errors.Is(err, store.ErrTransient) {
			w.Errorf("apply: got %v, want a transient error", err)
		}
		if _, err := w.Session(w.Context(), token(1)); !errors.Is(err, store.ErrTransient) {
			w.Errorf("read: got %v, want a transient error", err)
		}
		if _, err := w.Lease(w.Context(), wamble.BoardIDs, 1); !errors.Is(err, store.ErrTransient) {
			w.Errorf("lease: got %v, want a transient error", err)
		}
	}},
	{"leases never overlap", leases},
	{"numbers come back", returns},
	{"numbers that come back are never leased twice", manyReturns},
	{"two profiles at once", twoProfiles},
}

// everySize applies runs of 1 to 130 moves, so that every way of splitting a run into
// statements is used, and checks every row.
func everySize(w *world) {
	w.apply(newSession(1), newSession(2))
	total, board := 0, wamble.BoardID(0)
	for n := 1; n <= 130; n += 3 {
		var run []intent.Intent
		board++
		run = append(run, newBoard(board))
		for ply := 1; ply <= n; ply++ {
			run = append(run, move(board, wamble.SessionID(ply%2+1), ply, ply <= 2))
		}
		w.apply(run...)
		w.equal(fmt.Sprintf("a run of %d", n), len(w.board(board).Moves), n)
		total++
	}
	w.equal("games of session 2", w.session(2).Stats.Games, total)
	w.equal("games of session 1", w.session(1).Stats.Games, total-1)
}

func leases(w *world) {
	for _, n := range []int{0, -1, 1_000_001} {
		if _, err := w.Lease(w.Context(), wamble.BoardIDs, n); err == nil {
			w.Errorf("lease %d: got no error", n)
		}
	}
	for _, seq := range wamble.Sequences() {
		var mu sync.Mutex
		var wg sync.WaitGroup
		seen := map[int64]bool{}
		for range 4 {
			wg.Go(func() {
				for _, n := range []int{1, 7, 500} {
					blocks, err := w.Lease(w.Context(), seq, n)
					if err != nil {
						w.Errorf("lease %v: %v", seq, err)
						return
					}
					mu.Lock()
					got := 0
					for _, b := range blocks {
						for id := b.First; id < b.First+b.Count; id++ {
							if id < 1 || seen[id] {
								w.Errorf("%v: number %d twice, or not positive", seq, id)
							}
							seen[id] = true
							got++
						}
					}
					mu.Unlock()
					if got != n {
						w.Errorf("%v: got %d numbers, want %d", seq, got, n)
					}
				}
			})
		}
		wg.Wait()
		w.equal(seq.String(), len(seen), 4*508)
	}
	blocks, err := w.Lease(w.Context(), wamble.SessionIDs, 1)
	w.must(err)
	w.apply(&intent.CreateSession{Session: wamble.SessionID(blocks[0].First), Token: token(1).Hash(), At: at(1)})
}

// returns puts numbers back; they are leased again unless later numbers have been leased.
func returns(w *world) {
	for _, seq := range wamble.Sequences() {
		lease := func(n int, want ...wamble.Block) {
			w.Helper()
			got, err := w.Lease(w.Context(), seq, n)
			w.must(err)
			w.equal("leased "+seq.String(), got, want)
		}
		lease(10, wamble.Block{First: 1, Count: 10})
		w.must(w.Return(w.Context(), seq, []wamble.Block{{First: 1, Count: 10}})) // all
		lease(10, wamble.Block{First: 1, Count: 10})
		lease(10, wamble.Block{First: 11, Count: 10})
		w.must(w.Return(w.Context(), seq, []wamble.Block{{First: 5, Count: 6}, {First: 11, Count: 10}}))
		lease(3, wamble.Block{First: 5, Count: 3})
		w.must(w.Return(w.Context(), seq, []wamble.Block{{First: 2, Count: 2}})) // later numbers are leased
		w.must(w.Return(w.Context(), seq, nil))
		lease(1, wamble.Block{First: 8, Count: 1})
	}
}

// manyReturns lets several goroutines lease, use some numbers and return the rest at the same
// time.
func manyReturns(w *world) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	used := map[int64]bool{}
	for i := range 4 {
		wg.Go(func() {
			for n := range 40 {
				blocks, err := w.Lease(w.Context(), wamble.BoardIDs, 20)
				if err != nil {
					w.Errorf("lease: %v", err)
					return
				}
				take := int64(n*i) % 5
				mu.Lock()
				for id := blocks[0].First; id < blocks[0].First+take; id++ {
					if used[id] {
						w.Errorf("number %d is used twice", id)
					}
					used[id] = true
				}
				mu.Unlock()
				blocks[0].First += take
				blocks[0].Count -= take
				if err := w.Return(w.Context(), wamble.BoardIDs, blocks); err != nil {
					w.Errorf("return: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// twoProfiles lets two profiles use the same identities and sessions at the same time. Each
// repeats a call after a transient error, as the drain does.
func twoProfiles(w *world) {
	const rounds = 20
	for i := range wamble.SessionID(rounds * 2) {
		w.apply(&intent.CreateSession{Session: i + 1, Token: token(byte(i + 1)).Hash(), At: at(1)})
	}
	var wg sync.WaitGroup
	for p, profile := range []string{"left", "right"} {
		wg.Go(func() {
			me := *w
			me.profile, me.cursor = profile, 0
			for i := range rounds {
				session := wamble.SessionID(i*2 + p + 1)
				board := wamble.BoardID(i*2 + p + 1)
				l := link(session, byte(i+1), 20)
				l.Player += wamble.PlayerID(p) * 10_000 // each proposes its own number
				l.Handle = fmt.Sprintf("h_%s_%d", profile, i)
				b := me.next(l, newBoard(board), move(board, session, 1, true),
					&intent.RecordRating{Board: board, Key: key(byte(i + 1)), Delta: 1, At: at(30)},
					&intent.RecordPayout{Board: board, Session: wamble.SessionID(i*2 + 1), Points: 1, At: at(30)})
				err := me.Apply(me.Context(), b)
				for errors.Is(err, store.ErrTransient) {
					err = me.Apply(me.Context(), b)
				}
				if err != nil {
					w.Errorf("%s, round %d: %v", profile, i, err)
					return
				}
				me.cursor++
			}
		})
	}
	wg.Wait()
	for i := range rounds {
		p := w.player(key(byte(i + 1)))
		w.equal(fmt.Sprintf("player %d", i+1), p.Stats, wamble.Stats{Score: 2, Rating: 1202, Games: 2})
		w.equal("both sessions", w.session(wamble.SessionID(i*2+1)).Player, w.session(wamble.SessionID(i*2+2)).Player)
	}
}

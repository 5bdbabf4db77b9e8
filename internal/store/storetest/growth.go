package storetest

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

var growth = flag.Int("growth", 200_000, "moves that BenchmarkGrowth stores")

// What BenchmarkGrowth stores: games of a number of plies, each paying half of its players, in
// transactions like those of the drain under load.
const (
	growthPlayers = 128
	growthPlies   = 300
	growthBatch   = 8192
)

// Growth stores moves in a growing database, and prints for each tenth of them how many were
// stored per second, and how much processor time (of cpu) each cost. With few boards a
// transaction has many moves of each board, with many about one.
func Growth(b *testing.B, open func(*testing.B) store.Store, cpu func() time.Duration) {
	for _, boards := range []int{129, 16_384} {
		b.Run(fmt.Sprintf("boards=%d", boards), func(b *testing.B) {
			s := open(b)
			season, start := newSeason(boards)
			if err := s.Apply(b.Context(), start); err != nil {
				b.Fatal(err)
			}
			var first, last, sum time.Duration
			for tenth := range 10 {
				var took, used time.Duration
				stored := 0
				for stored < *growth/10 {
					batch := season.batch(min(growthBatch, *growth/10-stored))
					began, before := time.Now(), cpu()
					if err := s.Apply(b.Context(), batch); err != nil {
						b.Fatal(err)
					}
					took, used = took+time.Since(began), used+cpu()-before
					stored += growthBatch
				}
				moves := time.Duration(*growth / 10)
				b.Logf("tenth %2d: %7.0f moves/s, %5.2f µs of processor time each", tenth+1,
					float64(moves)/took.Seconds(), float64(used.Nanoseconds())/float64(moves)/1000)
				if tenth == 0 {
					first = used
				}
				last, sum = used, sum+used
			}
			b.ReportMetric(float64(sum.Nanoseconds())/float64(*growth), "cpu-ns/move")
			b.ReportMetric(float64(last)/float64(first), "last/first")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// season plays games to their end, one move per board in turn.
type season struct {
	rng    *rand.Rand
	now    time.Time
	cursor uint64
	boards []seasonBoard // boards with a game in progress
	made   int           // boards in all
	turn   int
}

type seasonBoard struct {
	id      wamble.BoardID
	plies   int
	players map[wamble.SessionID]bool
}

// newSeason returns a season and its first batch. Its games begin at different stages.
func newSeason(boards int) (*season, store.Batch) {
	s := &season{rng: rand.New(rand.NewPCG(1, 0)), now: epoch}
	var sessions, made []intent.Intent
	for i := range growthPlayers {
		tok := wamble.Token{byte(i), byte(i >> 8), 2}
		sessions = append(sessions,
			&intent.CreateSession{Session: wamble.SessionID(i + 1), Token: tok.Hash(), At: s.now})
	}
	for range boards {
		one, in := s.board()
		one.plies = s.rng.IntN(growthPlies - 1)
		s.boards, made = append(s.boards, one), append(made, in)
	}
	return s, s.next(slices.Concat(sessions, made))
}

func (s *season) board() (seasonBoard, intent.Intent) {
	s.made++
	one := seasonBoard{id: wamble.BoardID(s.made), players: map[wamble.SessionID]bool{}}
	return one, &intent.CreateBoard{Board: one.id, FEN: startFEN, Status: wamble.Dormant, Variant: -1, At: s.now}
}

func (s *season) next(intents []intent.Intent) store.Batch {
	s.cursor++
	return store.Batch{Journal: store.JournalID{1}, Profile: TrafficProfile, After: s.cursor - 1, Through: s.cursor,
		Intents: intents}
}

// batch returns a transaction with moves, on one board after another.
func (s *season) batch(moves int) store.Batch {
	var created, updated, assigned, played, results, paid, held, freed []intent.Intent
	touched := map[int]bool{}
	for range moves {
		s.now = s.now.Add(15 * time.Microsecond)
		s.turn = (s.turn + 1) % len(s.boards)
		one := &s.boards[s.turn]
		one.plies++
		who := wamble.SessionID(s.rng.IntN(growthPlayers) + 1)
		played = append(played, &intent.RecordMove{Board: one.id, Session: who, UCI: "e2e4", Ply: one.plies,
			First: !one.players[who], At: s.now})
		one.players[who] = true
		touched[s.turn] = true
		if one.plies == growthPlies {
			updated = append(updated, s.update(one, wamble.Archived))
			results = append(results, &intent.RecordGameResult{Board: one.id, Result: wamble.Draw, Plies: growthPlies,
				Reason: "stalemate", At: s.now})
			for who := range one.players {
				if who%2 == 0 {
					paid = append(paid, &intent.RecordPayout{Board: one.id, Session: who, Points: 1.25, Canonical: 1.25,
						At: s.now})
				}
			}
			made, in := s.board()
			*one, created = made, append(created, in)
		}
	}
	for i := range touched {
		one := &s.boards[i]
		updated = append(updated, s.update(one, wamble.Reserved))
		assigned = append(assigned, &intent.UpdateBoardAssignmentTime{Board: one.id, At: s.now})
		if len(held) < growthPlayers {
			held = append(held, &intent.CreateReservation{Board: one.id, Session: wamble.SessionID(len(held) + 1),
				At: s.now, Expires: s.now.Add(time.Hour)})
		} else {
			freed = append(freed, &intent.RemoveReservation{Board: one.id, At: s.now})
		}
	}
	for _, run := range [][]intent.Intent{updated, assigned, played, paid} {
		slices.SortStableFunc(run, byLocality)
	}
	return s.next(slices.Concat(created, updated, assigned, played, results, paid, held, freed))
}

func (s *season) update(one *seasonBoard, status wamble.BoardStatus) intent.Intent {
	return &intent.UpdateBoard{Board: one.id, FEN: afterE4, Status: status, Version: uint64(2*one.plies + 1), At: s.now}
}

// byLocality orders intents of one kind like the drain.
func byLocality(a, b intent.Intent) int {
	row := a.Kind().Row()
	aMajor, aMinor := row.Locality(a)
	bMajor, bMinor := row.Locality(b)
	return cmp.Or(cmp.Compare(aMajor, bMajor), cmp.Compare(aMinor, bMinor))
}

package storetest

import (
	"math/rand/v2"
	"slices"
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// Traffic simulates a busy profile: players who move and are switched to another board. It is
// deterministic for a seed.
type Traffic struct {
	rng    *rand.Rand
	now    time.Time
	cursor uint64

	holds   []wamble.BoardID // by player: the board for their next move
	next    int              // index of the player whose turn it is
	plies   map[wamble.BoardID]int
	version map[wamble.BoardID]uint64
	held    map[wamble.BoardID]bool
	met     map[[2]int64]bool // pairs of session and board that have met
}

// TrafficProfile is the profile of the batches.
const TrafficProfile = "traffic"

// NewTraffic returns traffic of a number of players on four times as many boards, and the batch
// that creates them all.
func NewTraffic(players int, seed uint64) (*Traffic, store.Batch) {
	tr := &Traffic{rng: rand.New(rand.NewPCG(seed, 0)), now: epoch, holds: make([]wamble.BoardID, players),
		plies: map[wamble.BoardID]int{}, version: map[wamble.BoardID]uint64{}, held: map[wamble.BoardID]bool{},
		met: map[[2]int64]bool{}}
	var sessions, boards, reservations []intent.Intent
	for i := range players * 4 {
		boards = append(boards, &intent.CreateBoard{Board: wamble.BoardID(i + 1), FEN: startFEN, Status: wamble.Dormant,
			Variant: -1, At: tr.now})
	}
	for i := range players {
		tok := wamble.Token{byte(i), byte(i >> 8), byte(i >> 16), 1}
		sessions = append(sessions,
			&intent.CreateSession{Session: wamble.SessionID(i + 1), Token: tok.Hash(), At: tr.now})
		tr.holds[i] = wamble.BoardID(i + 1)
		tr.held[tr.holds[i]] = true
		reservations = append(reservations, &intent.CreateReservation{Board: tr.holds[i],
			Session: wamble.SessionID(i + 1), At: tr.now, Expires: tr.now.Add(time.Hour)})
	}
	return tr, tr.batch(slices.Concat(sessions, boards, reservations))
}

func (tr *Traffic) batch(intents []intent.Intent) store.Batch {
	tr.cursor++
	return store.Batch{Journal: store.JournalID{1}, Profile: TrafficProfile, After: tr.cursor - 1, Through: tr.cursor,
		Intents: intents}
}

// Batch returns the next batch with a number of moves, coalesced like the drain's: one update
// per board, the newest change of each reservation, moves by board.
func (tr *Traffic) Batch(moves int) store.Batch {
	updates, assigned, holders := map[wamble.BoardID]intent.Intent{}, map[wamble.BoardID]intent.Intent{},
		map[wamble.BoardID]intent.Intent{}
	var played []intent.Intent
	for range moves {
		tr.now = tr.now.Add(67 * time.Microsecond)
		session := wamble.SessionID(tr.next + 1)
		board := tr.holds[tr.next]
		tr.plies[board]++
		pair := [2]int64{int64(session), int64(board)}
		played = append(played, &intent.RecordMove{Board: board, Session: session, UCI: "e2e4", Ply: tr.plies[board],
			First: !tr.met[pair], At: tr.now})
		tr.met[pair] = true
		updates[board] = tr.update(board, wamble.Active)
		holders[board] = &intent.RemoveReservation{Board: board, At: tr.now}

		free := tr.draw()
		tr.held[board], tr.held[free], tr.holds[tr.next] = false, true, free
		updates[free] = tr.update(free, wamble.Reserved)
		assigned[free] = &intent.UpdateBoardAssignmentTime{Board: free, At: tr.now}
		holders[free] = &intent.CreateReservation{Board: free, Session: session, White: tr.plies[free]%2 == 0,
			At: tr.now, Expires: tr.now.Add(time.Hour)}
		tr.next = (tr.next + 1) % len(tr.holds)
	}
	var created, removed []intent.Intent
	for _, in := range sorted(holders) {
		if in.Kind() == intent.KindCreateReservation {
			created = append(created, in)
		} else {
			removed = append(removed, in)
		}
	}
	slices.SortStableFunc(played, byLocality)
	return tr.batch(slices.Concat(sorted(updates), sorted(assigned), played, created, removed))
}

func (tr *Traffic) update(b wamble.BoardID, s wamble.BoardStatus) intent.Intent {
	tr.version[b]++
	return &intent.UpdateBoard{Board: b, FEN: afterE4, Status: s, Version: tr.version[b], At: tr.now}
}

// draw returns a free board.
func (tr *Traffic) draw() wamble.BoardID {
	for {
		b := wamble.BoardID(tr.rng.IntN(len(tr.holds)*4) + 1)
		if !tr.held[b] {
			return b
		}
	}
}

// sorted returns the intents by board.
func sorted(m map[wamble.BoardID]intent.Intent) []intent.Intent {
	keys := make([]wamble.BoardID, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	all := make([]intent.Intent, len(keys))
	for i, k := range keys {
		all[i] = m[k]
	}
	return all
}

package link

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// TestClassify: a token counts at the address that has proven itself with it, and the token of an offer or a cookie
// where it was sent to; what somebody has invented counts nowhere, also when it is said twice.
func TestClassify(t *testing.T) {
	r := sealedRig(t, Config{})
	r.prove(alice)
	offered := wamble.Token(r.s.seals.make(r.now, offerSeal, bob, 7, 0))
	cookie := r.cookie(bob)
	for _, tc := range []struct {
		name string
		from wamble.Peer
		data []byte
		want Class
	}{
		{"a player", alice, move(tokenA, 9), ClassPlayer},
		{"a player's ACK", alice, ack(tokenA, 9), ClassPlayer},
		{"a player's token elsewhere", carol, move(tokenA, 9), ClassRest},
		{"an invented token", carol, move(wamble.Token{1, 2, 3}, 9), ClassRest},
		{"the same again", carol, move(wamble.Token{1, 2, 3}, 9), ClassRest},
		{"a newcomer of the original", carol, hello(wamble.Token{}, 1), ClassRest},
		{"an offer where it was sent to", bob, ack(offered, 1), ClassProven},
		{"an offer elsewhere", carol, ack(offered, 1), ClassRest},
		{"a hello with room for a cookie", carol, cookieHello(wamble.Token{}, 1, nil), ClassRest},
		{"a hello with another's cookie", carol, cookieHello(wamble.Token{}, 1, cookie), ClassRest},
		{"a good cookie", bob, cookieHello(wamble.Token{}, 2, cookie), ClassProven},
		{"nothing", alice, []byte("x"), ClassRest},
	} {
		class, answered := r.s.Classify(tc.from, tc.data)
		if class != tc.want {
			t.Errorf("%s: class %v, want %v", tc.name, class, tc.want)
		}
		if want := strings.HasPrefix(tc.name, "a hello"); answered != want {
			t.Errorf("%s: it is answered with a cookie: %v, want %v", tc.name, answered, want)
		}
		r.send(tc.from, tc.data)
	}
	r.now += 10 * time.Minute // a player who thinks, and whose path is gone
	r.s.Forget(alice)
	if class, _ := r.s.Classify(alice, move(tokenA, 9)); class != ClassPlayer {
		t.Errorf("a player who comes back: class %v", class)
	}
	keys := r.s.seals
	r.s.now += 2 * keyTime
	r.s.Classify(bob, cookieHello(wamble.Token{}, 2, cookie))
	if r.s.seals.since != keys.since {
		t.Error("to class a datagram replaces the keys, so that a recording would not replay")
	}
}

func at(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

// arrive adds a datagram at once, as of a class.
func (q *Intake) arrive(class Class, from wamble.Peer, ms int, b []byte) {
	q.Add(at(ms), class, false, from, at(ms), b)
}

// order takes everything, and returns class and number of each datagram.
func (q *Intake) order(t *testing.T, now time.Duration) (got []string) {
	t.Helper()
	for {
		class, w := q.Next(now)
		if w == nil {
			return got
		}
		h, err := wire.Peek(w.Data)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(class, " ", h.Seq))
	}
}

// TestIntakeOrder: players first, then the proven, both in order; then of the rest the newest first, hosts with few
// datagrams before others.
func TestIntakeOrder(t *testing.T) {
	var q Intake
	for seq := range uint32(4) {
		q.arrive(ClassRest, carol, 1, hello(wamble.Token{}, seq+1))
	}
	q.arrive(ClassRest, alice, 3, hello(wamble.Token{}, 5))
	q.arrive(ClassProven, bob, 4, ack(tokenB, 6))
	q.arrive(ClassPlayer, alice, 5, ack(tokenA, 7))
	q.arrive(ClassPlayer, alice, 6, ack(tokenA, 8))
	q.arrive(ClassRest, bob, 7, hello(wamble.Token{}, 9))
	q.arrive(ClassProven, bob, 8, ack(tokenB, 10))
	want := []string{"player 7", "player 8", "proven 6", "proven 10", "rest 9", "rest 5", "rest 2", "rest 1", "rest 4",
		"rest 3"}
	if got := q.order(t, at(60)); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if q.Len() != 0 || q.Shed() != [Classes]uint64{} {
		t.Errorf("%d wait, %v were dropped", q.Len(), q.Shed())
	}
}

// TestIntakeDrops: what an intake does not take, and what it forgets again.
func TestIntakeDrops(t *testing.T) {
	old := at(0) + maxAge + 1
	for _, tc := range []struct {
		name string
		do   func(q *Intake)
		now  time.Duration
		want []string
		shed [Classes]uint64
	}{
		{"a newer copy of a newcomer's hello goes first", func(q *Intake) {
			q.arrive(ClassRest, carol, 1, hello(wamble.Token{}, 1))
			q.arrive(ClassRest, bob, 2, hello(wamble.Token{}, 2))
			q.arrive(ClassRest, carol, 3, hello(wamble.Token{}, 1))
		}, at(4), []string{"rest 1", "rest 2"}, [Classes]uint64{ClassRest: 1}},
		{"an older copy of a player's move does", func(q *Intake) {
			q.arrive(ClassPlayer, alice, 1, move(tokenA, 1))
			q.arrive(ClassPlayer, alice, 2, move(tokenA, 2))
			q.arrive(ClassPlayer, alice, 3, move(tokenA, 1))
		}, at(900), []string{"player 1", "player 2"}, [Classes]uint64{ClassPlayer: 1}},
		{"another request under the same number is no copy", func(q *Intake) {
			q.arrive(ClassPlayer, alice, 1, move(tokenA, 1))
			q.arrive(ClassPlayer, alice, 2, terms(tokenA, 1))
		}, at(3), []string{"player 1", "player 1"}, [Classes]uint64{}},
		{"a copy after the first was processed is none", func(q *Intake) {
			q.arrive(ClassRest, carol, 1, hello(wamble.Token{}, 1))
			q.Next(at(1))
			q.arrive(ClassRest, carol, 2, hello(wamble.Token{}, 1))
		}, at(3), []string{"rest 1"}, [Classes]uint64{}},
		{"what is sent again goes first, also if the first was too old", func(q *Intake) {
			q.Add(old, ClassRest, false, carol, 0, hello(wamble.Token{}, 1))
			q.Add(old, ClassRest, false, alice, old, hello(wamble.Token{}, 2))
			q.Add(old, ClassRest, false, carol, old, hello(wamble.Token{}, 1))
			q.Add(old, ClassRest, false, bob, old, hello(wamble.Token{}, 3))
		}, old, []string{"rest 1", "rest 3", "rest 2"}, [Classes]uint64{ClassRest: 1}},
		{"an old hello in the kernel's queue", func(q *Intake) {
			q.Add(old, ClassRest, true, carol, 0, hello(wamble.Token{}, 1))
			q.Add(old, ClassRest, true, carol, 1, hello(wamble.Token{}, 2))
		}, old, []string{"rest 2"}, [Classes]uint64{ClassRest: 1}},
		{"an old hello in the intake", func(q *Intake) { q.arrive(ClassRest, carol, 0, hello(wamble.Token{}, 1)) },
			old, nil, [Classes]uint64{ClassRest: 1}},
		{"an old move", func(q *Intake) { q.arrive(ClassPlayer, carol, 0, move(tokenA, 1)) },
			old, []string{"player 1"}, [Classes]uint64{}},
	} {
		var q Intake
		tc.do(&q)
		if got := q.order(t, tc.now); !slices.Equal(got, tc.want) || q.Shed() != tc.shed || q.held != (Intake{}).held {
			t.Errorf("%s: got %v, dropped %v, want %v and %v", tc.name, got, q.Shed(), tc.want, tc.shed)
		}
	}
}

// TestIntakeDropRest: players and proven ones stay when the rest is dropped.
func TestIntakeDropRest(t *testing.T) {
	var q Intake
	for seq := range uint32(fewOfHost + 1) {
		q.arrive(ClassRest, carol, 1, hello(wamble.Token{}, seq+1))
	}
	q.arrive(ClassRest, carol, minRepeat+1, hello(wamble.Token{}, 1))
	q.arrive(ClassPlayer, alice, minRepeat+1, ack(tokenA, 7))
	q.arrive(ClassProven, bob, minRepeat+1, ack(tokenB, 8))
	q.DropRest()
	want := []string{"player 7", "proven 8"}
	got := q.order(t, at(minRepeat+1))
	if !slices.Equal(got, want) || q.Shed() != [Classes]uint64{ClassRest: 4} || q.held != (Intake{}).held {
		t.Errorf("got %v, dropped %v, want %v", got, q.Shed(), want)
	}
}

// TestIntakeLate: while few wait, those are processed that come late, and nothing is strained; of many the oldest are
// dropped.
func TestIntakeLate(t *testing.T) {
	for _, more := range []int{0, 3} {
		var q Intake
		now := at(0) + maxRestAge + 1
		for n := range fewRestWaits + more {
			q.Add(at(n), ClassRest, false, forged(n), at(n), hello(wamble.Token{}, uint32(n)))
		}
		now += at(fewRestWaits + more)
		got := q.order(t, now)
		if len(got) != fewRestWaits || q.Shed() != [Classes]uint64{ClassRest: uint64(more)} || (q.late == now) != (more > 0) {
			t.Errorf("%d: got %d, dropped %v, late at %v", fewRestWaits+more, len(got), q.Shed(), q.late)
		}
		q.Add(now, ClassRest, false, carol, now-maxRestAge-1, hello(wamble.Token{}, 1))
		if got := q.order(t, now); len(got) != 1 {
			t.Errorf("a late one alone: got %v", got)
		}
	}
}

// TestIntakeStrained: under strain, what is sent again goes on, also from a host that has others waiting.
func TestIntakeStrained(t *testing.T) {
	const now = time.Second
	var q Intake
	for seq := range uint32(fewOfHost + 2) {
		q.Add(now-at(minRepeat), ClassRest, false, carol, now-at(minRepeat), hello(wamble.Token{}, seq+1))
	}
	for q.Len() > 0 {
		q.Next(now)
	}
	q.strainedSince, q.late = now-strainedTime, now
	if !q.OnlyCookies(now) {
		t.Fatal("it is not strained")
	}
	for seq := range uint32(fewOfHost + 3) {
		q.Add(now, ClassRest, false, carol, now, hello(wamble.Token{}, seq+1))
	}
	want := []string{"rest 2", "rest 1", "rest 4", "rest 3"}
	if got := q.order(t, now); !slices.Equal(got, want) || q.Shed() != [Classes]uint64{ClassRest: 1} {
		t.Errorf("got %v, dropped %v, want %v and the new one dropped", got, q.Shed(), want)
	}
}

// forged returns one of many addresses.
func forged(n int) wamble.Peer { return peerAt(fmt.Sprintf("10.%d.%d.9:7", n>>8&255, n&255)) }

// TestIntakeIsBounded: the rest does not take the places of players, nor one host those of others.
func TestIntakeIsBounded(t *testing.T) {
	var q Intake
	q.arrive(ClassRest, alice, 0, hello(wamble.Token{}, 1))
	for i := range 2 * maxRestWaits {
		q.arrive(ClassRest, carol, 0, hello(wamble.Token{}, uint32(i+1)))
	}
	if q.queues[fewRest].len() != fewOfHost+1 || q.queues[manyRest].len() != maxRestWaits {
		t.Errorf("%d and %d of the rest wait", q.queues[fewRest].len(), q.queues[manyRest].len())
	}
	for i := range 3 * maxRestWaits {
		q.arrive(ClassRest, forged(i), 0, hello(wamble.Token{}, 1))
	}
	for i := range 2 * maxPlayerWaits {
		q.arrive(ClassPlayer, alice, 0, ack(tokenA, uint32(i+1)))
		q.arrive(ClassProven, bob, 0, ack(tokenB, uint32(i+1)))
	}
	for i := range 3 * maxRestWaits {
		q.arrive(ClassRest, forged(i), minRepeat, hello(wamble.Token{}, 1))
	}
	for of, want := range []int{maxPlayerWaits, maxProvenWaits, maxRestWaits, maxRestWaits, maxRestWaits} {
		if got := q.queues[of].len(); got != want {
			t.Errorf("queue %d has %d, want %d", of, got, want)
		}
	}
	if n := len(q.order(t, 0)); n <= maxPlayerWaits+maxProvenWaits+2*maxRestWaits {
		t.Errorf("%d were processed", n)
	}
}

// TestAllocsIntake: when its queues have been full once, an intake allocates nothing.
func TestAllocsIntake(t *testing.T) {
	r := sealedRig(t, Config{})
	r.prove(alice)
	var q Intake
	packets := [][]byte{hello(wamble.Token{}, 1), cookieHello(wamble.Token{}, 1, []byte(strings.Repeat("ab", 16))),
		move(wamble.Token{1, 2, 3}, 9), move(tokenA, 9)}
	n, froms := 0, []wamble.Peer{bob, carol, bob, alice}
	round := func() {
		for i, b := range packets {
			n++
			wire.SetSeq(b, uint32(n))
			class, cookie := r.s.Classify(froms[i], b)
			q.Add(0, class, cookie, froms[i], 0, b)
		}
		for range packets {
			q.Next(0)
		}
	}
	for range 4 * maxPlayerWaits {
		round()
	}
	if got := testing.AllocsPerRun(1000, round); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// TestGraceUnderTooMuch: with a tenth of a processor, which is less than a flood of hellos wants, players and newcomers
// are served, and it is over when the flood is. A request takes 15 µs of a processor, a cookie 4 µs, a datagram that is
// dropped 1 µs; a newcomer says hello every 250 ms.
func TestGraceUnderTooMuch(t *testing.T) {
	const (
		length   = 10 * time.Second
		retry    = 250 * time.Millisecond
		everyNew = 100 * time.Millisecond
		full     = 150 * time.Microsecond
		cookie   = 40 * time.Microsecond
		shed     = 10 * time.Microsecond
		step     = time.Millisecond
	)
	many := func(n int) wamble.Peer {
		return peerAt(fmt.Sprintf("10.%d.%d.%d:7", n>>16&255, n>>8&255, n&255))
	}
	all, none := func(int) bool { return true }, func(int) bool { return false }
	half := func(n int) bool { return n%2 == 0 }
	one, ten := func(int) wamble.Peer { return many(1) }, func(n int) wamble.Peer { return many(n % 10) }
	for _, tc := range []struct {
		name   string
		from   func(n int) wamble.Peer
		cookie func(n int) bool // a hello of the flood has room for a cookie
		slower time.Duration    // how many times as long everything takes
	}{
		{"forged addresses, half of them with room for cookies", many, half, 1},
		{"forged addresses, all with room for cookies", many, all, 1},
		{"invented tokens", many, none, 1},
		{"one host", one, half, 1},
		{"ten hosts", ten, all, 1},
		{"a twentieth of a processor", many, half, 2},
		{"a twentieth, invented tokens", many, none, 2},
		{"a twentieth, one host without room for cookies", one, none, 2},
	} {
		var q Intake
		rnd := rand.New(rand.NewPCG(1, 2))
		began := map[wamble.Peer]time.Duration{} // newcomers who are not in yet
		var players, newcomers []time.Duration   // how long they waited
		floods, came, strainedAfter := 0, 0, 0
		busy := time.Duration(0)
		serve := func(until time.Duration) {
			for busy < until {
				class, w := q.Next(busy)
				if w == nil {
					return
				}
				since, isNew := began[w.From]
				busy += full * tc.slower
				switch {
				case class == ClassPlayer:
					h, _ := wire.Peek(w.Data)
					players = append(players, busy-time.Duration(h.Seq)*time.Microsecond)
				case class == ClassRest && w.cookie:
					busy += (cookie - full) * tc.slower
					if isNew {
						q.Add(busy, ClassProven, false, w.From, busy, w.Data)
					}
				case isNew:
					newcomers = append(newcomers, busy-since)
					delete(began, w.From)
				}
			}
		}
		for now := step; now < length+2*time.Second; now += step {
			arrivals := 1
			if now < length {
				arrivals = 10
			}
			turn := rnd.IntN(arrivals)
			for i := range arrivals {
				at := now + step*time.Duration(i)/time.Duration(arrivals)
				busy = max(busy, at)
				if now < length {
					floods++
					before := q.Shed()
					q.Add(busy, ClassRest, tc.cookie(floods), tc.from(floods), at, hello(wamble.Token{}, uint32(floods)))
					if q.Shed() != before {
						busy += shed * tc.slower
					}
				}
				if i == turn {
					if rnd.IntN(10) == 0 { // 20 players at 5 moves a second
						q.Add(at, ClassPlayer, false, alice, at, move(tokenA, uint32(at/time.Microsecond)))
					}
					if now%everyNew == 0 && now < length {
						came++
						began[peerAt(fmt.Sprintf("192.0.2.%d:%d", came%250, 1000+came))] = now
					}
					by := func(a, b wamble.Peer) int { return a.Addr.Compare(b.Addr) }
					for _, from := range slices.SortedFunc(maps.Keys(began), by) {
						if (now-began[from])%retry == 0 {
							q.Add(at, ClassRest, from.Addr.Port()%2 == 0, from, at, hello(wamble.Token{}, 1))
						}
					}
				}
				serve(at + step/time.Duration(arrivals))
			}
			if now > length+time.Second && q.OnlyCookies(now) {
				strainedAfter++
			}
		}
		slices.Sort(players)
		slices.Sort(newcomers)
		if len(newcomers) == 0 || len(players) == 0 {
			t.Fatalf("%s: %d newcomers and %d moves", tc.name, len(newcomers), len(players))
		}
		worst, slowest := newcomers[len(newcomers)-1], players[len(players)-1]
		t.Logf("%s: players wait %v at most; newcomers %v, half of them %v; %d of %d were dropped", tc.name, slowest,
			worst, newcomers[len(newcomers)/2], q.Shed()[ClassRest], floods)
		if len(newcomers) != came || worst > 2*time.Second {
			t.Errorf("%s: %d of %d newcomers came in, after %v at most", tc.name, len(newcomers), came, worst)
		}
		if slowest > 10*time.Millisecond || strainedAfter > 0 || q.Shed()[ClassPlayer] > 0 {
			t.Errorf("%s: players waited %v, %d were dropped; %d ms after the flood it was not over", tc.name, slowest,
				q.Shed()[ClassPlayer], strainedAfter)
		}
	}
}

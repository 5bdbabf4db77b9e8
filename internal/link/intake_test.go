package link

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// TestClassify: a token counts at the address that has proven itself with it, and the token of an offer or a cookie
// where it was sent to; what somebody has invented counts nowhere, also when it is said twice.
func TestClassify(t *testing.T) {
	r := newRig(t, Config{})
	r.prove(alice)
	r.s.SetKey([32]byte{1, 2, 3})
	offered := wamble.Token(r.s.seals.make(r.now, offerSeal, bob, 7, 0))
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
		{"a newcomer", carol, hello(wamble.Token{}, 1), ClassRest},
		{"an offer where it was sent to", bob, ack(offered, 1), ClassProven},
		{"an offer elsewhere", carol, ack(offered, 1), ClassRest},
		{"nothing", alice, []byte("x"), ClassRest},
	} {
		if got := r.s.Classify(tc.from, tc.data); got != tc.want {
			t.Errorf("%s: class %d, want %d", tc.name, got, tc.want)
		}
		r.send(tc.from, tc.data)
	}
}

// TestIntakeOrder: players first, then the proven, both in order; then the rest, the newest first, with turns for
// hosts. An older copy of a request is dropped, and so is what is too old.
func TestIntakeOrder(t *testing.T) {
	var q Intake
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	q.Add(ClassRest, carol, at(1), hello(wamble.Token{}, 1))
	q.Add(ClassRest, carol, at(2), hello(wamble.Token{}, 2))
	q.Add(ClassRest, alice, at(3), hello(wamble.Token{}, 3))
	q.Add(ClassProven, bob, at(4), ack(tokenB, 4))
	q.Add(ClassPlayer, alice, at(5), ack(tokenA, 5))
	q.Add(ClassPlayer, alice, at(6), ack(tokenA, 6))
	q.Add(ClassRest, carol, at(7), hello(wamble.Token{}, 1))
	q.Add(ClassProven, bob, at(8), ack(tokenB, 7))
	var got []string
	for {
		class, _, b, ok := q.Next(at(200))
		if !ok {
			break
		}
		h, err := wire.Peek(b)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(class, " ", h.Seq))
		q.Done(b)
	}
	if want := []string{"0 5", "0 6", "1 4", "1 7", "2 1", "2 3", "2 2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if q.Shed(ClassRest) != 1 {
		t.Errorf("%d copies were dropped, want 1", q.Shed(ClassRest))
	}
	q.Add(ClassRest, carol, at(300), hello(wamble.Token{}, 1))
	if _, _, _, ok := q.Next(at(300) + maxRestAge + 1); ok {
		t.Error("what has waited too long is processed")
	}
}

// TestIntakeIsBounded: a host fills its own share, many hosts the places of the rest, and neither takes those of
// players.
func TestIntakeIsBounded(t *testing.T) {
	var q Intake
	for i := range 100 {
		q.Add(ClassRest, carol, 0, hello(wamble.Token{}, uint32(i+1)))
	}
	if q.waits != maxRestPerHost {
		t.Errorf("%d of a host wait, want %d", q.waits, maxRestPerHost)
	}
	for i := range 10_000 {
		q.Add(ClassRest, peerAt(fmt.Sprintf("10.%d.%d.9:7", i>>8, i&255)), 0, hello(wamble.Token{}, 1))
	}
	for i := range 2 * maxPlayerWaits {
		q.Add(ClassPlayer, alice, 0, ack(tokenA, uint32(i+1)))
	}
	if q.waits != maxRestWaits || q.Shed(ClassPlayer) != maxPlayerWaits {
		t.Errorf("%d of the rest wait, %d of players were dropped", q.waits, q.Shed(ClassPlayer))
	}
	players := 0
	for {
		class, _, b, ok := q.Next(0)
		if !ok {
			break
		}
		if class == ClassPlayer {
			players++
		}
		q.Done(b)
	}
	if players != maxPlayerWaits {
		t.Errorf("%d of players were processed, want %d", players, maxPlayerWaits)
	}
}

// TestGraceUnderTooMuch: with a fifth of the processor that a flood of forged hellos wants, players and newcomers are
// served, and it is over when the flood is. A datagram takes 500 µs of the little processor that there is, a cookie
// 100 µs; a newcomer says hello every 250 ms, and with the cookie as soon as it has one.
func TestGraceUnderTooMuch(t *testing.T) {
	const (
		length   = 10 * time.Second
		retry    = 250 * time.Millisecond
		everyNew = 100 * time.Millisecond
		full     = 500 * time.Microsecond
		cookie   = 100 * time.Microsecond
		step     = time.Millisecond
	)
	var q Intake
	rnd := rand.New(rand.NewPCG(1, 2))
	began := map[wamble.Peer]time.Duration{} // newcomers who are not in yet
	var players, newcomers []time.Duration   // how long they waited
	forged, came, strainedAfter := 0, 0, 0
	busy := time.Duration(0)
	serve := func(until time.Duration) {
		for busy < until {
			class, from, b, ok := q.Next(busy)
			if !ok {
				return
			}
			since, isNew := began[from]
			switch {
			case class == ClassPlayer:
				h, _ := wire.Peek(b)
				players = append(players, busy-time.Duration(h.Seq)*time.Microsecond)
			case isNew && class == ClassRest && q.OnlyCookies(busy):
				q.Add(ClassProven, from, busy, b)
			case isNew:
				newcomers = append(newcomers, busy-since)
				delete(began, from)
			}
			q.Done(b)
			if class == ClassRest && q.OnlyCookies(busy) {
				busy += cookie
			} else {
				busy += full
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
				forged++
				q.Add(ClassRest, peerAt(fmt.Sprintf("10.%d.%d.%d:7", forged>>16, forged>>8&255, forged&255)), at,
					hello(wamble.Token{}, 1))
			}
			if i == turn {
				if rnd.IntN(10) == 0 { // 20 players at 5 moves a second
					q.Add(ClassPlayer, alice, at, move(tokenA, uint32(at/time.Microsecond)))
				}
				if now%everyNew == 0 && now < length {
					came++
					began[peerAt(fmt.Sprintf("192.0.2.%d:%d", came%250, 1000+came))] = now
				}
				byAddress := func(a, b wamble.Peer) int { return a.Addr.Compare(b.Addr) }
				for _, from := range slices.SortedFunc(maps.Keys(began), byAddress) {
					if (now-began[from])%retry == 0 {
						q.Add(ClassRest, from, at, hello(wamble.Token{}, 1))
					}
				}
			}
			serve(at + step/time.Duration(arrivals))
		}
		if now == length-step && !q.OnlyCookies(now) {
			t.Error("the flood goes on, and hellos are not answered with cookies alone")
		}
		if now > length+time.Second && q.OnlyCookies(now) {
			strainedAfter++
		}
	}
	slices.Sort(players)
	slices.Sort(newcomers)
	worst := newcomers[len(newcomers)-1]
	t.Logf("players wait %v at most; newcomers %v, half of them %v; %d of %d of the rest were dropped",
		players[len(players)-1], worst, newcomers[len(newcomers)/2], q.Shed(ClassRest), forged)
	if len(newcomers) != came || worst > 2*time.Second {
		t.Errorf("%d of %d newcomers came in, after %v at most", len(newcomers), came, worst)
	}
	if players[len(players)-1] > 10*time.Millisecond || strainedAfter > 0 || q.Shed(ClassPlayer) > 0 {
		t.Errorf("players waited %v, %d were dropped; %d ms after the flood it was not over", players[len(players)-1],
			q.Shed(ClassPlayer), strainedAfter)
	}
}

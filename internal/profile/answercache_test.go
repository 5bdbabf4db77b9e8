package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/wire"
)

// TestRecentAnswers: the store's answer about a player's stats, also a failure, is cached for
// half a second, for at most 256 players.
func TestRecentAnswers(t *testing.T) {
	for name, outcome := range map[string]Outcome{"found": Found, "not found": NotFound, "away": Away,
		"broken": Broken} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "")
			r.store.enlist(500, 1200, epoch)
			token, _ := r.join(1)
			seq := uint32(10)
			asks := func(handle string) (loads int, said string) {
				t.Helper()
				seq++
				got := r.send(peerAt(1), statsPacket(token, seq, wire.String(wire.KeyStatsTargetHandle, handle)))
				if loads = len(r.loads); loads > 0 {
					in := &Loaded{Load: r.loads[0].ID, Outcome: outcome}
					if outcome == Found {
						in.Session, in.Answer = r.store.session(500),
							&Answer{Player: &wamble.Player{Stats: wamble.Stats{Score: 7}}}
					}
					r.loads = nil
					r.step(in)
					r.settle()
					got = r.took()
				}
				_, said, _ = strings.Cut(got, "\n") // behind the ACK
				return loads, said
			}
			loads, first := asks("h_0500")
			again, second := asks("h_0500")
			if loads != 1 || again != 0 || first != second {
				t.Errorf("asked %d times and again %d, got %q and %q", loads, again, first, second)
			}
			r.wait(cachedAnswerTTL)
			if loads, _ := asks("h_0500"); loads != 1 {
				t.Error("it is believed for longer")
			}
			for i := range 2 * maxCachedAnswers {
				r.p.answerCache.add(0, &Load{Subject: TargetOf, Handle: fmt.Sprintf("h_%04d", i)},
					&Loaded{Outcome: outcome})
			}
			if r.p.answerCache.answers.Len() != maxCachedAnswers {
				t.Errorf("%d answers are kept", r.p.answerCache.answers.Len())
			}
		})
	}
}

// TestRecentIdentity: an identity that could not be read is not loaded again for a moment,
// and the challenge stays valid.
func TestRecentIdentity(t *testing.T) {
	r := newRig(t, "")
	by := standardSigner(1)
	token, _ := r.join(1)
	proof := func(seq uint32, challenge [32]byte) {
		m := wamble.LoginMessage(by.key, token, challenge)
		r.send(peerAt(1), proofPacket(token, seq, by.key, by.sign(m[:])))
	}
	proof(12, r.challenged(peerAt(1), token, 11, by.key))
	if len(r.loads) != 1 {
		t.Fatalf("got %d loads", len(r.loads))
	}
	id := r.loads[0].ID
	r.loads = nil
	r.step(&Loaded{Load: id, Outcome: Broken})
	challenge := r.challenged(peerAt(1), token, 13, by.key)
	if proof(14, challenge); len(r.loads) != 0 {
		t.Error("the store was asked again at once")
	}
	r.wait(cachedAnswerTTL + time.Millisecond)
	if proof(15, challenge); len(r.loads) != 1 {
		t.Error("the store was not asked again, or the challenge is used up")
	}
}

package profile

import (
	"testing"

	"wamble"
	"wamble/internal/reward"
	"wamble/wire"
)

// TestPrizesAreTold: the first prize is announced at once, those that follow once a second
// and together; absent players are told nothing, and no record of a player is kept for ever.
func TestPrizesAreTold(t *testing.T) {
	r := newRig(t, "(def min-boards 4)")
	token, id := r.join(1)
	other, _ := r.join(2)
	win := func(token wamble.Token, points float64) {
		r.p.award(r.p.sessions.Find(token), id, points, &r.out)
	}
	told := func(want map[wamble.Peer]string) {
		t.Helper()
		r.settle()
		got := r.notices()
		for peer, text := range want {
			if got[peer] != text {
				t.Errorf("%v was told %q, want %q", peer, got[peer], text)
			}
		}
		if len(got) != len(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	win(token, 2.5)
	r.step()
	told(map[wamble.Peer]string{peerAt(1): "1 your moves won 2.5 points"})
	win(token, 1)
	win(token, 0.25)
	win(other, 3)
	r.step()
	told(map[wamble.Peer]string{peerAt(2): "1 your moves won 3 points"})
	if at, ok := r.p.rewards.prizes.Next(); !ok || r.p.clock.at(at).After(r.now.Add(reward.Every)) {
		t.Errorf("the next one is told at %v, %v", at, ok)
	}
	r.wait(reward.Every)
	told(map[wamble.Peer]string{peerAt(1): "1 your moves won 1.25 points in 2 games"})
	win(token, 7)
	r.wait(2 * reward.Every)
	told(map[wamble.Peer]string{peerAt(1): "1 your moves won 7 points"})
	win(token, 7)
	win(token, 8)
	r.send(peerAt(1), encode(wire.Header{Token: token, Seq: 9}, wire.ClientGoodbye{}))
	r.took()
	r.wait(2 * reward.Every)
	told(nil)
	if n := r.p.rewards.prizes.Len(); n != 0 {
		t.Errorf("%d are remembered", n)
	}
}

package profile

import (
	"testing"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/journal"
)

// TestMergePlayers: sessions of one player become those of the other, who has a
// rating between theirs, by games; repeated events change nothing in memory; the
// other key belongs to them, also after a handoff, until they are erased.
func TestMergePlayers(t *testing.T) {
	r := newRig(t, "(def min-boards 9)")
	one, two := wamble.PublicKey{5}, wamble.PublicKey{6}
	first, _ := r.join(1)
	r.identified(first, one)
	r.p.frame.n, r.frames = 0, nil // the intents of identified are no frame
	stays := wamble.Player{ID: 77, Key: two, Handle: "Ann", Stats: wamble.Stats{Score: 1, Games: 1, Rating: 1000}}
	r.store.players[two] = &stays
	in := &Merge{From: wamble.Player{Key: one, Stats: wamble.Stats{Games: 3, Rating: 1240}}, Into: stays}
	r.step(in)
	if got := r.out.StoreEvents; len(got) != 1 || got[0].What != Stale || got[0].Key != two ||
		got[0].Merged != one || !got[0].Urgent {
		t.Errorf("news: %+v", got)
	}
	r.step(&StoreEvents{Changes: []StoreEvent{{What: Stale, Key: two, Merged: one}}})
	if len(r.out.StoreEvents) != 0 {
		t.Errorf("it is told again: %+v", r.out.StoreEvents)
	}
	s := r.p.sessions.Find(first)
	if i := s.Identity(); i.Key() != two || i.Handle() != "Ann" || i.ID() != 77 {
		t.Errorf("the player is %v, %q", i.Key(), i.Handle())
	}
	if got, want := r.p.sessions.Rating(s), (3*1240+1000)/4.0; got != want {
		t.Errorf("rated %v, want %v", got, want)
	}
	merges := 0
	for _, f := range r.frames {
		intents, err := journal.Decode(f.frame)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range intents {
			if m, ok := in.(*intent.MergePlayers); ok && m.From == one && m.Into == two {
				merges++
			}
		}
	}
	if merges != 2 {
		t.Errorf("%d messages for the store, want one of the command and one of the news", merges)
	}
	r.settle()
	if got := handOver(t, r).p.merged; got[one] != two {
		t.Errorf("after a handoff: %v", got)
	}
	if got := r.p.KeyOwner(one); got != two {
		t.Errorf("the other key is that of %v", got)
	}
	r.step(&Merge{From: stays, Into: stays}, &Merge{From: stays})
	r.settle()
	r.step(&Erase{Key: two})
	r.settle()
	if got := r.p.playerOf(one); got != one {
		t.Errorf("after erasing the other key is that of %v", got)
	}
}

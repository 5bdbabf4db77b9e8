package board

import (
	"errors"
	"testing"
	"time"

	"wamble"
)

// Every transition of the table of states, with what is to be kept, in order.
func TestTransitions(t *testing.T) {
	const fortnight = "336h0m0s"
	for _, tc := range []struct {
		name   string
		change func(*Options)
		before func(*rig)
		do     func(*rig)
		status wamble.BoardStatus // of board 1
		want   []string
	}{
		{
			name: "pool fill", do: (*rig).fill, status: wamble.Dormant,
			want: []string{"create 1 DORMANT"},
		},
		{
			name: "on demand", do: func(r *rig) { r.assign(7) }, status: wamble.Reserved,
			want: []string{"create 1 DORMANT", "update 1 RESERVED v1", "assigned 1", "reserve 1 for 7 white " + fortnight},
		},
		{
			name: "dormant to reserved", before: (*rig).fill, do: func(r *rig) { r.assign(7) }, status: wamble.Reserved,
			want: []string{"update 1 RESERVED v1", "assigned 1", "reserve 1 for 7 white " + fortnight},
		},
		{
			name:   "active to reserved",
			before: func(r *rig) { r.assign(7); r.play(1, 7, "e2e4") },
			do:     func(r *rig) { r.assign(8) }, status: wamble.Reserved,
			want: []string{"update 1 RESERVED v3", "assigned 1", "reserve 1 for 8 black " + fortnight},
		},
		{
			name:   "reserved again",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.after(time.Minute); r.assign(7) }, status: wamble.Reserved,
		},
		{
			name:   "reserved to active",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.play(1, 7, "e2e4") }, status: wamble.Active,
			want: []string{"move 1 by 7 e2e4 ply 1 first", "update 1 ACTIVE v2", "unreserve 1"},
		},
		{
			name:   "second move of a session",
			before: func(r *rig) { r.assign(7); r.play(1, 7, "e2e4"); r.assign(7) },
			do:     func(r *rig) { r.play(1, 7, "e7e5") }, status: wamble.Active,
			want: []string{"move 1 by 7 e7e5 ply 2", "update 1 ACTIVE v4", "unreserve 1"},
		},
		{
			name:   "reservation timeout",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.after(14 * 24 * time.Hour); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "reservation timeout of an identity",
			before: func(r *rig) { r.assign(7); r.Identify(7, true) },
			do:     func(r *rig) { r.after(14 * 24 * time.Hour); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "just before the reservation timeout",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.after(14*24*time.Hour - time.Microsecond); r.Due(r.now, nil, &r.said) }, status: wamble.Reserved,
		},
		{
			name:   "release",
			before: func(r *rig) { r.assign(7); r.Identify(7, true) },
			do:     func(r *rig) { r.Release(r.now, 7, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "an anonymous player leaves",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.Leave(r.now, 7, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v2", "unreserve 1"},
		},
		{
			name:   "a player with an identity leaves",
			before: func(r *rig) { r.assign(7); r.Identify(7, true) },
			do:     func(r *rig) { r.Leave(r.now, 7, &r.said) }, status: wamble.Reserved,
		},
		{
			name:   "inactivity",
			before: func(r *rig) { r.assign(7); r.play(1, 7, "e2e4") },
			do:     func(r *rig) { r.after(5 * time.Minute); r.Due(r.now, nil, &r.said) }, status: wamble.Dormant,
			want: []string{"update 1 DORMANT v3"},
		},
		{
			name:   "just before inactivity",
			before: func(r *rig) { r.assign(7); r.play(1, 7, "e2e4") },
			do:     func(r *rig) { r.after(5*time.Minute - time.Microsecond); r.Due(r.now, nil, &r.said) }, status: wamble.Active,
		},
		{
			name:   "taken back",
			change: func(o *Options) { o.MaxBoards = 1 },
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.after(5*time.Minute + time.Microsecond); r.assign(8) }, status: wamble.Reserved,
			want: []string{"update 1 DORMANT v2", "unreserve 1", "update 1 RESERVED v3", "assigned 1", "reserve 1 for 8 white " + fortnight},
		},
		{
			name: "the game ends",
			before: func(r *rig) {
				for i, uci := range []string{"f2f3", "e7e5", "g2g4"} {
					s := wamble.SessionID(7 + i)
					r.assign(s)
					r.play(1, s, uci)
				}
				r.after(90 * time.Second)
				r.assign(7)
			},
			do: func(r *rig) { r.play(1, 7, "d8h4") }, status: wamble.Archived,
			want: []string{
				"move 1 by 7 d8h4 ply 4", "update 1 ARCHIVED v8", "unreserve 1",
				"result 1 b checkmate plies 4 after 1m30s",
			},
		},
		{
			name:   "archived by hand, held",
			before: func(r *rig) { r.assign(7) },
			do:     func(r *rig) { r.Archive(r.now, 1, &r.said) }, status: wamble.Archived,
			want: []string{"update 1 ARCHIVED v2", "unreserve 1", "result 1 d archived by the host plies 0 after 0s"},
		},
		{
			name: "archived by hand, free", before: (*rig).fill,
			do: func(r *rig) { r.Archive(r.now, 1, &r.said) }, status: wamble.Archived,
			want: []string{"update 1 ARCHIVED v1", "unreserve 1", "result 1 d archived by the host plies 0 after 0s"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.change)
			if tc.before != nil {
				tc.before(r)
			}
			r.said.take()
			tc.do(r)
			r.expect(tc.want...)
			got := wamble.Archived
			if b := r.Board(1); b != nil {
				got = b.Status()
			}
			if got != tc.status {
				t.Errorf("status %s, want %s", got, tc.status)
			}
		})
	}
}

func TestReleasedSaysWhoAndWhy(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 3 })
	r.assign(7)
	r.after(time.Second)
	r.assign(8)
	if got, ok := r.Leave(r.now, 7, &r.said); !ok || got != (Released{1, 7, Left}) {
		t.Errorf("leave: %+v, %v", got, ok)
	}
	if _, ok := r.Leave(r.now, 7, &r.said); ok {
		t.Error("left twice")
	}
	if _, ok := r.Release(r.now, 99, &r.said); ok {
		t.Error("released who holds nothing")
	}
	r.after(time.Second)
	r.assign(9)
	r.after(14*24*time.Hour - time.Second)
	got := r.Due(r.now, nil, &r.said)
	if len(got) != 1 || got[0] != (Released{2, 8, TimedOut}) {
		t.Errorf("due: %+v", got)
	}
	if b := r.Held(8); b != nil {
		t.Errorf("8 still holds %d", b.ID())
	}
	check(t, r.Pool)
}

func TestTakenBackFromTheLongestSilent(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxBoards = 3 })
	for s := range wamble.SessionID(3) {
		r.assign(s + 1)
		r.after(time.Second)
	}
	r.after(200 * time.Second)
	r.Heard(r.now, 1)
	r.after(100 * time.Second)
	// 1 was heard 100 s ago, 2 302 s ago, 3 301 s ago.
	for _, want := range []wamble.SessionID{2, 3} {
		a, err := r.Assign(r.now, Player{Session: want + 10}, &r.said)
		if err != nil {
			t.Fatal(err)
		}
		if a.Taken.Session != want || a.Taken.Why != TakenBack || a.Taken.Board != a.Board.ID() {
			t.Errorf("taken %+v, want that of %d", a.Taken, want)
		}
		check(t, r.Pool)
	}
	if _, err := r.Assign(r.now, Player{Session: 20}, &r.said); !errors.Is(err, ErrNoBoard) {
		t.Errorf("got %v, want %v", err, ErrNoBoard)
	}
	r.after(5 * time.Minute)
	if a, err := r.Assign(r.now, Player{Session: 20}, &r.said); err != nil || a.Taken.Session != 1 {
		t.Errorf("got %+v, %v; want the board of 1", a, err)
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	r := newRig(t, nil)
	r.assign(7)
	r.after(-time.Hour)
	r.play(1, 7, "e2e4")
	if got, want := r.Board(1).LastMoved(), epoch; !got.Equal(want) {
		t.Errorf("moved at %s, want %s", got, want)
	}
}

func TestNext(t *testing.T) {
	r := newRig(t, nil)
	if _, ok := r.Next(); ok {
		t.Error("an empty pool waits for something")
	}
	r.fill()
	if _, ok := r.Next(); ok {
		t.Error("a dormant board waits for something")
	}
	r.assign(7)
	r.after(time.Minute)
	r.play(1, 7, "e2e4")
	at, ok := r.Next()
	if want := r.now.Add(5 * time.Minute); !ok || !at.Equal(want) {
		t.Errorf("next at %s, %v; want %s", at, ok, want)
	}
	// A second move on the board delays it, which Next need not know before.
	r.assign(8)
	r.after(time.Minute)
	r.play(1, 8, "e7e5")
	r.said.take()
	r.Due(at, nil, &r.said)
	r.expect()
	at, ok = r.Next()
	if want := r.now.Add(5 * time.Minute); !ok || !at.Equal(want) {
		t.Errorf("next at %s, %v; want %s", at, ok, want)
	}
	r.Due(at, nil, &r.said)
	r.expect("update 1 DORMANT v5")
	if _, ok := r.Next(); ok {
		t.Error("a dormant board waits for something")
	}
}

func TestReconfigure(t *testing.T) {
	r := newRig(t, nil)
	r.assign(7)
	o := *r.Options()
	o.Reservation = time.Minute
	r.Reconfigure(o)
	if at, ok := r.Next(); !ok || !at.Equal(epoch.Add(time.Minute)) {
		t.Errorf("next at %s, %v", at, ok)
	}
	r.after(time.Minute)
	if got := r.Due(r.now, nil, &r.said); len(got) != 1 {
		t.Errorf("due: %+v", got)
	}
	check(t, r.Pool)
}

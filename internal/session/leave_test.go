package session

import (
	"errors"
	"testing"
	"time"

	"wamble"
)

func TestRolls(t *testing.T) {
	key := wamble.PublicKey{9}
	for _, tc := range []struct {
		name string
		do   func(r *rig, s *Session)
		want string
	}{
		{"live", func(r *rig, s *Session) {}, "live"},
		{"just not away", func(r *rig, s *Session) { r.after(5*time.Minute - 1000); r.Due(r.now, r.holds, nil) }, "live"},
		{"away, all applied", func(r *rig, s *Session) { r.after(5 * time.Minute); r.Due(r.now, r.holds, nil) }, "nowhere"},
		{"away, not applied", func(r *rig, s *Session) {
			r.Wrote(s, 7)
			r.after(5 * time.Minute)
			r.Due(r.now, r.holds, nil)
		}, "departing"},
		{"away, applied later", func(r *rig, s *Session) {
			r.Wrote(s, 7)
			r.after(5 * time.Minute)
			r.Due(r.now, r.holds, nil)
			r.Applied(6)
			r.Applied(7)
		}, "nowhere"},
		{"departing, and back", func(r *rig, s *Session) {
			r.Wrote(s, 7)
			r.after(5 * time.Minute)
			r.Due(r.now, r.holds, nil)
			r.NoteActivity(r.now, s, silence{})
			r.Applied(7)
		}, "live"},
		{"away with a board", func(r *rig, s *Session) { r.board[1] = true; r.after(5 * time.Minute); r.Due(r.now, r.holds, nil) }, "idle"},
		{"idle, and back", func(r *rig, s *Session) {
			r.board[1] = true
			r.after(5 * time.Minute)
			r.Due(r.now, r.holds, nil)
			r.NoteActivity(r.now, s, silence{})
		}, "live"},
		{"idle, and the board is lost", func(r *rig, s *Session) {
			r.board[1] = true
			r.after(5 * time.Minute)
			r.Due(r.now, r.holds, nil)
			r.NoteBoardLost(1)
		}, "nowhere"},
		{"live, and the board is lost", func(r *rig, s *Session) { r.NoteBoardLost(1) }, "live"},
		{"expired", func(r *rig, s *Session) { r.board[1] = true; r.after(24 * time.Hour); r.Due(r.now, r.holds, nil) }, "nowhere"},
		{"goodbye", func(r *rig, s *Session) { r.Goodbye(r.now, s) }, "nowhere"},
		{"goodbye, not applied", func(r *rig, s *Session) { r.Wrote(s, 7); r.Goodbye(r.now, s) }, "nowhere"},
		{"goodbye of an identity, not applied", func(r *rig, s *Session) {
			r.Link(r.now, s, key, nil, silence{})
			r.Wrote(s, 7)
			r.Goodbye(r.now, s)
		}, "departing"},
		{"logout", func(r *rig, s *Session) {
			r.Link(r.now, s, key, nil, silence{})
			r.Wrote(s, 7)
			r.Logout(r.now, s, silence{})
		}, "nowhere"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, nil)
			s := r.heard()
			tc.do(r, s)
			if got := r.listOf(1); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			check(t, r.Table)
		})
	}
}

func TestExpiredOnce(t *testing.T) {
	r := newRig(t, nil)
	s := r.heard()
	token := s.Token()
	r.board[1] = true
	var ended []Ended
	for range 30 {
		r.after(time.Hour)
		ended = r.Due(r.now, r.holds, ended)
	}
	if len(ended) != 1 || ended[0] != (Ended{1, token, Expired}) {
		t.Errorf("ended: %+v", ended)
	}
	if _, ok := r.Next(); ok {
		t.Error("something is still to come")
	}
}

func TestNextOfTheRolls(t *testing.T) {
	r := newRig(t, nil)
	if _, ok := r.Next(); ok {
		t.Error("an empty table waits for something")
	}
	r.heard()
	r.board[1] = true
	want := []time.Duration{5 * time.Minute, 24 * time.Hour}
	for _, d := range want {
		at, ok := r.Next()
		if !ok || !at.Equal(epoch.Add(d)) {
			t.Fatalf("next at %s, %v; want %s", at, ok, epoch.Add(d))
		}
		r.Due(at, r.holds, nil)
	}
	if r.Len() != 0 {
		t.Error("still there")
	}
}

// The token of a session that ended is not loaded from the store.
func TestOver(t *testing.T) {
	r := newRig(t, nil)
	said, out, kept := r.heard(), r.heard(), r.heard()
	if err := r.Link(r.now, out, wamble.PublicKey{1}, nil, silence{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Link(r.now, kept, wamble.PublicKey{2}, nil, silence{}); err != nil {
		t.Fatal(err)
	}
	r.said = nil
	r.Goodbye(r.now, said)
	r.Logout(r.now, out, &r.said)
	r.Goodbye(r.now, kept)
	r.expect("unlink 2", "RENEW_SESSION_TOKEN")
	for _, tc := range []struct {
		s    *Session
		want bool
	}{{said, true}, {out, true}, {kept, false}} {
		if got := r.Refused(tc.s.Token()); got != tc.want {
			t.Errorf("session %d: over %v", tc.s.ID(), got)
		}
		_, err := r.Admit(r.now, tc.s.Token(),
			&wamble.Session{ID: tc.s.ID(), Token: tc.s.Token().Hash(), LastSeen: r.now}, nil, r.holds)
		if errors.Is(err, ErrEnded) != tc.want {
			t.Errorf("session %d: %v", tc.s.ID(), err)
		}
	}
}

func TestLogoutOfNobody(t *testing.T) {
	r := newRig(t, nil)
	s := r.heard()
	r.said = nil
	r.Logout(r.now, s, &r.said)
	r.expect("RENEW_SESSION_TOKEN")
	if !r.Refused(s.Token()) {
		t.Error("it is not over")
	}
}

func TestReconfigure(t *testing.T) {
	r := newRig(t, nil)
	r.heard()
	o := r.opts
	o.Away = time.Second
	r.Reconfigure(o)
	r.after(time.Second)
	r.Due(r.now, r.holds, nil)
	if r.Len() != 0 {
		t.Error("still there")
	}
}

// While the store is away sessions that left cannot be dropped, and have a bound.
func TestDepartingAreBounded(t *testing.T) {
	r := newRig(t, func(o *Options) { o.MaxPlayers, o.NewPerHost = 3, 0 })
	for range 3 {
		r.Wrote(r.hello(), 7)
	}
	r.after(time.Minute)
	r.Due(r.now, r.holds, nil)
	if r.lists.departing.n != 3 || r.Present() != 0 {
		t.Fatalf("%d departing, %d present", r.lists.departing.n, r.Present())
	}
	if _, _, err := r.Hello(r.now, peer("192.0.2.1:1"), 99, r.holds, silence{}); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	r.Applied(7)
	r.hello()
}

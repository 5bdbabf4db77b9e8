package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"wamble/internal/intent"

	"wamble"
)

func TestLoad(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		want  int // -1: an error
	}{
		{"in order", fstest.MapFS{"m/002_b.sql": file("b"), "m/001_a.sql": file("a")}, 2},
		{"a gap", fstest.MapFS{"m/001_a.sql": file("a"), "m/003_c.sql": file("c")}, -1},
		{"a number twice", fstest.MapFS{"m/001_a.sql": file("a"), "m/001_b.sql": file("b")}, -1},
		{"a stray file", fstest.MapFS{"m/001_a.sql": file("a"), "m/notes.txt": file("")}, -1},
		{"no folder", fstest.MapFS{}, -1},
	} {
		got, err := Load(c.files, "m", SQLite)
		if (err != nil) != (c.want < 0) || err == nil && len(got) != c.want {
			t.Errorf("%s: got %v, %v, want %d", c.name, got, err, c.want)
		}
		for i, m := range got {
			if m.Version != i+1 || m.SQL != m.Name[4:5] {
				t.Errorf("%s: got %+v at %d", c.name, m, i)
			}
		}
	}
}

func TestPending(t *testing.T) {
	all := []Migration{{Version: 1}, {Version: 2}, {Version: 3}}
	for version, want := range []int{3, 2, 1, 0} {
		if got, err := Pending(all, version, version); err != nil || len(got) != want {
			t.Errorf("version %d: got %v, %v, want %d", version, got, err, want)
		}
	}
	if got, err := Pending(all, 5, 3); err != nil || len(got) != 0 {
		t.Errorf("version 5 that needs 3: got %v, %v", got, err)
	}
	_, err := Pending(all, 4, 4)
	var newer *Newer
	if !errors.As(err, &newer) || newer.Database != 4 || newer.Program != 3 {
		t.Errorf("version 4: got %v, want *Newer", err)
	}
}

// TestProgress runs a step of twelve seconds on a synthetic clock.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		p := Progress(func(s Step) { told = append(told, fmt.Sprint(s.Elapsed, " ", s.Done)) })
		err := p.Run(t.Context(), Step{}, func(context.Context) error {
			<-time.After(12 * time.Second)
			return nil
		})
		if got, want := fmt.Sprint(told), "[0s false 5s false 10s false 12s true]"; err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		failure := errors.New("no")
		told = nil
		if err := p.Run(t.Context(), Step{}, func(context.Context) error { return failure }); err != failure ||
			len(told) != 1 {
			t.Errorf("a failure: got %v, told %q", err, told)
		}
		if err := Progress(nil).Run(t.Context(), Step{},
			func(context.Context) error { return failure }); err != failure {
			t.Errorf("nobody listens: got %v", err)
		}
	})
}

func TestRuns(t *testing.T) {
	a, b := &intent.RemoveReservation{}, &intent.UnlinkSession{}
	got := ""
	for kind, run := range Runs([]intent.Intent{a, a, b, a}) {
		got += fmt.Sprintf("%v×%d ", kind, len(run))
	}
	if want := "REMOVE_RESERVATION×2 UNLINK_SESSION_IDENTITY×1 REMOVE_RESERVATION×1 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBoardChanges(t *testing.T) {
	when := func(n int) time.Time { return time.Unix(int64(n), 0).UTC() }
	up := func(b wamble.BoardID, v uint64, at int) intent.Intent {
		return &intent.UpdateBoard{Board: b, Version: v, At: when(at)}
	}
	assign := func(b wamble.BoardID, at int) intent.Intent {
		return &intent.UpdateBoardAssignmentTime{Board: b, At: when(at)}
	}
	run := []intent.Intent{up(1, 5, 10), up(2, 1, 11), up(1, 4, 12), assign(1, 9), assign(1, 8), assign(3, 7)}
	var kinds []intent.Kind
	for kind, part := range Runs(run) {
		kinds = append(kinds, kind)
		got, want := BoardChanges(part), []BoardChange{
			{Board: 1, Version: 5, At: when(12), Assigned: when(9)},
			{Board: 2, Version: 1, At: when(11)},
			{Board: 3, Version: -1, At: when(7), Assigned: when(7)},
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if got, want := fmt.Sprint(kinds), "[UPDATE_BOARD]"; got != want {
		t.Errorf("runs: got %s, want %s", got, want)
	}
}

func TestNewestSeen(t *testing.T) {
	seen := func(s wamble.SessionID, at int64) intent.Intent {
		return &intent.UpdateSessionLastSeen{Session: s, At: time.Unix(at, 0)}
	}
	got := ""
	for _, in := range NewestSeen([]intent.Intent{seen(1, 5), seen(2, 1), seen(1, 4), seen(3, 1), seen(2, 1)}) {
		got += fmt.Sprintf("%d@%d ", in.Session, in.At.Unix())
	}
	if want := "1@5 3@1 2@1 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

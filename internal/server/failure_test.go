package server

import (
	"errors"
	"math"
	"strings"
	"syscall"
	"testing"

	"wamble"
	"wamble/internal/loop"
	"wamble/internal/prooftest"
	"wamble/runner/pebblestore"
	"wamble/runner/runnertest"
)

// TestJournalFails: the disk of the journal fails repeatedly under load. Nothing is
// acknowledged that is not durable, the log has the reason, and play goes on when the journal
// works again.
func TestJournalFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := runnertest.NewFaulty(pebblestore.At(JournalDir(dir), pebblestore.Options{}))
	s := serve(t, Options{Dir: dir, Storage: disk}, conf("")).ready()
	c := gather(t, s.address(), 12)
	c.play()
	for round := range kills() {
		c.more(t, 200)
		before := s.life()
		disk.FailAfter(round%4, syscall.EIO)
		until(t, "the profile is made anew", func() bool {
			l := s.life()
			return l != nil && l != before
		})
	}
	c.more(t, 200)
	c.finish()
	if got := s.readyz(); got != "200 ready" {
		t.Errorf("/readyz says %s", got)
	}
	s.end()
	if !strings.Contains(s.log.String(), "input/output error") {
		t.Error("the log does not say why")
	}
	verifySQLite(t, dir, c)
}

// TestDiskHangs: while a commit does not return, the loop goes on and no packet leaves,
// because no answer is durable. Then all players get their answers.
func TestDiskHangs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := runnertest.NewFaulty(pebblestore.At(JournalDir(dir), pebblestore.Options{}))
	s := serve(t, Options{Dir: dir, Storage: disk}, conf("")).ready()
	c := gather(t, s.address(), 12)
	c.play()
	c.more(t, 200)
	held, release := disk.Hang()
	<-held
	look := func() loop.Figures { return s.first().Figures(t.Context()) }
	// Earlier durable packets may still be on their way, then nothing is sent.
	sent, steps := uint64(0), uint64(0)
	until(t, "packets stop", func() bool {
		now := look()
		if now.Link.Sent != sent {
			sent, steps = now.Link.Sent, now.Stats.Steps
		}
		return now.Stats.Steps > steps+50
	})
	if now := look(); now.Gauges.Held == 0 || now.Link.Sent != sent {
		t.Errorf("%d answers wait, %d packets left while the disk hung", now.Gauges.Held, now.Link.Sent-sent)
	}
	release()
	c.more(t, 200)
	c.finish()
	s.end()
	verifySQLite(t, dir, c)
}

// TestDiskFull: below the watermark of free space every move is refused with that reason;
// with space again the server recovers by itself.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := runnertest.NewFaulty(pebblestore.At(JournalDir(dir), pebblestore.Options{}))
	text := strings.Replace(conf(""), "(def disk-reserve-mb 0)", "(def disk-reserve-mb 16)", 1)
	s := serve(t, Options{Dir: dir, Storage: disk}, text).ready()
	c := gather(t, s.address(), 6)
	c.play()
	c.more(t, 100)
	disk.SetFree(15 << 20)
	until(t, "the server notices",
		func() bool { return strings.HasPrefix(s.readyz(), "503 the journal has failed: free space") })
	metrics := s.metrics()
	for _, want := range []string{`wamble_up{profile="default"} 0`, `wamble_journal_state{state="read-only"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	until(t, "the database has everything", func() bool { return s.Status(t.Context()).Profiles[0].Depth == 0 })
	stored := storedMoves(t, dir)
	before := s.first().Figures(t.Context()).Stats.Refused
	until(t, "players are refused", func() bool { return s.first().Figures(t.Context()).Stats.Refused > before+10 })
	if got := storedMoves(t, dir); got != stored {
		t.Errorf("%d moves were kept without room", got-stored)
	}
	disk.SetFree(math.MaxUint64)
	c.more(t, 100)
	c.finish()
	s.end()
	told := false
	for _, p := range c.players {
		told = told || wasTold(t, p)
	}
	if !told {
		t.Error("nobody was told")
	}
	verifySQLite(t, dir, c)
}

// wasTold reports whether a player was told that the server cannot keep moves.
func wasTold(t testing.TB, p *player) bool {
	t.Helper()
	p.c.Close()
	for {
		e, err := p.c.Event(t.Context())
		if err != nil {
			return false
		}
		var denied *wamble.Denied
		if errors.As(e.Err, &denied) && denied.Code == wamble.Internal {
			return true
		}
	}
}

// storedMoves counts the moves of a database.
func storedMoves(t testing.TB, dir string) (n int) {
	t.Helper()
	store := openSQLite(t, dir)
	for b, err := range store.Games(t.Context(), wamble.GameFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(b.Moves)
	}
	return n
}

// kills returns how often a server is killed, or its journal fails.
func kills() int { return prooftest.Sized(1, 3, 50) }

// TestDiskFullAtFirstStart: a server whose disk is full at its first start says so, and serves as soon
// as there is room.
func TestDiskFullAtFirstStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	disk := runnertest.NewFaulty(pebblestore.At(JournalDir(dir), pebblestore.Options{}))
	disk.SetFree(1 << 20)
	text := strings.Replace(conf(""), "(def disk-reserve-mb 0)", "(def disk-reserve-mb 16)", 1)
	s := serve(t, Options{Dir: dir, Storage: disk}, text)
	until(t, "the server says why it does not serve", func() bool {
		p := s.Status(t.Context()).Profiles
		return len(p) > 0 && p[0].Failures > 1 && strings.Contains(p[0].Stage, "free space is below")
	})
	disk.SetFree(math.MaxUint64)
	c := gather(t, s.ready().address(), 2)
	c.play()
	c.more(t, 10)
	c.finish()
}

package tape

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"wamble/internal/config"
	"wamble/internal/profile"
)

// TestFileIsWritten: what was recorded is in the file a second later, before it is closed; so
// kill -9 loses little of a run.
func TestFileIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Series{Name: filepath.Join(t.TempDir(), "run.rec")}
		o := profile.Options{Config: config.Defaults().Default, Now: time.Now()}
		f, err := s.Next(o, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p := profile.New(o)
		var out profile.Output
		for want := range 3 {
			inputs := []profile.Input{&profile.Tick{}}
			p.Step(time.Now(), inputs, &out)
			f.Step(time.Now(), inputs, &out)
			time.Sleep(writeEvery)
			synctest.Wait()
			tape, err := os.Open(s.Name)
			if err != nil {
				t.Fatal(err)
			}
			if n, first, err := Replay(tape); n != want+1 || first != nil || err != nil {
				t.Errorf("got %d steps, %v, %v; want %d", n, first, err, want+1)
			}
			tape.Close()
		}
	})
}

// TestFileWritesMuch: a recording that grows fast is written before its second is over,
// and keeps its order.
func TestFileWritesMuch(t *testing.T) {
	s := Series{Name: filepath.Join(t.TempDir(), "run.rec")}
	o := profile.Options{Config: config.Defaults().Default, Now: time.Now()}
	f, err := s.Next(o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := profile.New(o)
	var out profile.Output
	const steps = 300
	for range steps {
		inputs := []profile.Input{&profile.Packet{Data: make([]byte, 64<<10)}}
		now := time.Now()
		p.Step(now, inputs, &out)
		f.Step(now, inputs, &out)
	}
	f.Close()
	tape, err := os.Open(s.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Close()
	if n, first, err := Replay(tape); n != steps || first != nil || err != nil {
		t.Errorf("got %d steps, %v, %v; want %d", n, first, err, steps)
	}
}

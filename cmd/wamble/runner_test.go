package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// TestRunnerScripts is TestScripts for the commands that inspect a runner. "make-runner DIR
// [SCHEMA]" makes one, "hold-runner DIR" keeps it open in this process until the script ends.
func TestRunnerScripts(t *testing.T) {
	hearInterrupts(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script/runner",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"make-runner": func(ts *testscript.TestScript, _ bool, args []string) {
				schema := versionFlag(journalSchema)
				if len(args) == 2 {
					ts.Check(schema.Set(args[1]))
				}
				ts.Check(makeRunner(t, ts.MkAbs(args[0]), runner.Version(schema)))
			},
			"hold-runner": func(ts *testscript.TestScript, _ bool, args []string) {
				r, err := runner.Open(pebblestore.At(ts.MkAbs(args[0]), pebblestore.Options{}),
					runner.Options{Schema: journalSchema})
				ts.Check(err)
				ts.Defer(func() { ts.Check(r.Close()) })
			},
		},
	})
}

// madeAt is the clock of makeRunner's runner: noon of 2026-01-01.
var madeAt = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// makeRunner makes a stopped runner with a message in every state: for worker 7 two waiting
// messages, one of high priority, one parked and three dead letters, for worker 9 one leased,
// and timers before and after 1970.
func makeRunner(t *testing.T, dir string, schema runner.Version) error {
	r, err := runner.Open(pebblestore.At(filepath.Join(t.TempDir(), "made"),
		pebblestore.Options{Durability: pebblestore.Write}), runner.Options{
		Create: true, Schema: schema,
		Now: func() time.Time { return madeAt },
	})
	if err != nil {
		return err
	}
	ctx := t.Context()
	post := func(posts ...runner.Message) {
		t.Helper()
		for i := range posts {
			if _, err := r.Post(ctx, &posts[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(worker uint64, o runner.WorkerOptions) {
		t.Helper()
		o.Policy = &runner.Policy{LeaseTTL: time.Minute}
		w, err := r.NewWorker(worker, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Tick(ctx); err != nil {
			t.Fatal(err)
		}
		if err := w.Remove(); err != nil {
			t.Fatal(err)
		}
	}
	post(runner.Message{To: 7, ID: []byte("dead-1"), Payload: []byte("move e2e4")},
		runner.Message{To: 7, ID: []byte("dead-2"), Payload: []byte{0xff, 0xfe}})
	run(7, runner.WorkerOptions{Batch: func(_ context.Context, b *runner.Batched) error {
		b.Fail(0, runner.Discard(errors.New("no such board")))
		b.Fail(1, runner.Discard(errors.New("connection refused")))
		return nil
	}})
	post(runner.Message{To: 7, ID: []byte("carrier")},
		runner.Message{To: 7, ID: []byte("parked"), Payload: []byte("later")})
	run(7, runner.WorkerOptions{Batch: func(_ context.Context, b *runner.Batched) error {
		b.DeadLetter(0, []byte("junk"), errors.New("not a frame"))
		b.Fail(1, runner.Retry(errors.New("not yet"), time.Hour))
		return nil
	}})
	post(runner.Message{To: 7, ID: []byte("first"), Payload: []byte("line one\nline two")},
		runner.Message{To: 7, ID: []byte{0, 0x7c, 0xff}, Payload: []byte{1, 2, 3}, Kind: runner.Event},
		runner.Message{To: 7, ID: []byte("urgent"), Flags: runner.HighPriority},
		runner.Message{To: 9, ID: []byte("held"), Flags: runner.HasTrace | runner.HasFrom, From: 7,
			Trace: []byte("tr")})
	// A copy that is made while worker 9 runs shows its message as leased, and timers
	// that were due long ago.
	run(9, runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
		for _, timer := range []struct{ due, to int64 }{{4102444800000, 9}, {1 << 62, 7}, {-1000, 7}} {
			m := runner.Message{Kind: runner.Timer, To: uint64(timer.to), ID: strconv.AppendInt(nil, timer.due, 10),
				Payload: []byte("tick")}
			if _, err := r.Arm(ctx, time.UnixMilli(timer.due), &m); err != nil {
				return err
			}
		}
		return r.Checkpoint(dir)
	}})
	return r.Close()
}

// TestRestoreEndsLeases: a message that was leased when the checkpoint was made is delivered
// at once after a restore, and not when its lease would have expired.
func TestRestoreEndsLeases(t *testing.T) {
	copied, dir := filepath.Join(t.TempDir(), "copy"), filepath.Join(t.TempDir(), "journal")
	if err := makeRunner(t, copied, journalSchema); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if code := run([]string{"runner", "restore", copied, "--dir", dir}, strings.NewReader(""), &said,
		&said); code != 0 {
		t.Fatalf("exit %d: %s", code, &said)
	}
	r, err := runner.Open(pebblestore.At(dir, pebblestore.Options{}),
		runner.Options{Schema: journalSchema, Now: func() time.Time { return madeAt }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	w, err := r.NewWorker(9, runner.WorkerOptions{Handler: func(_ context.Context, _ *runner.Tx,
		d *runner.Delivery) error {
		got = append(got, string(d.ID))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tick(t.Context()); err != nil || !slices.Contains(got, "held") {
		t.Errorf("delivered %q, %v, want what was held", got, err)
	}
}

// TestPayloadDecoders: a decoder's value appears in JSON and in tables, only
// for the messages that it recognises.
func TestPayloadDecoders(t *testing.T) {
	saved := payloadDecoders
	defer func() { payloadDecoders = saved }()
	payloadDecoders = []func(*runner.Message) (any, bool){
		func(m *runner.Message) (any, bool) { return nil, false },
		func(m *runner.Message) (any, bool) {
			if len(m.Payload) != 2 {
				return nil, false
			}
			return map[string]int{"sum": int(m.Payload[0]) + int(m.Payload[1])}, true
		},
	}
	known := runner.Message{ID: []byte("k"), Payload: []byte{3, 4}}
	if got, want := fmt.Sprint(viewMessage(&known).Decoded), "map[sum:7]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	frame, err := known.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := frameCells(frame), "command\tk\tmap[sum:7]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	other := runner.Message{ID: []byte("o"), Payload: []byte("abc")}
	if got := viewMessage(&other); got.Decoded != nil || *got.Payload.Text != "abc" {
		t.Errorf("got %+v, want the payload as text only", got)
	}
}

func TestCell(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"text", "e2e4", "e2e4"},
		{"empty", "", "-"},
		{"lines", "a\nb", `a\nb`},
		{"escape sequence", "\x1b[2J", "hex:1b5b324a"},
		{"not UTF-8", "\xff\xfe", "hex:fffe"},
		{"long", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstu…"},
	} {
		if got := cell([]byte(tc.in)); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestCauseNames fails when the list of causes has one that --cause does not offer.
func TestCauseNames(t *testing.T) {
	names := causeNames()
	last := runner.Cause(len(names))
	if got, want := last.String(), fmt.Sprintf("cause %d", len(names)); got != want {
		t.Errorf("got %q for the cause after the last, want %q: causeNames lacks it", got, want)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(names) {
		t.Errorf("causes share a name: %v", names)
	}
}

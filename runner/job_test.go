package runner_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wamble/runner"
	"wamble/runner/memstore"
	"wamble/runner/runnertest"
)

type mail struct {
	To    string
	Lines int
}

// gobCodec is a codec other than the default.
type gobCodec struct{}

func (gobCodec) Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

func (gobCodec) Decode(b []byte, v any) error { return gob.NewDecoder(bytes.NewReader(b)).Decode(v) }

// TestTypedJobs: a handler gets the posted arguments, with each codec, and leaves a result.
func TestTypedJobs(t *testing.T) {
	for name, codec := range map[string]runner.Codec{"JSON": nil, "gob": gobCodec{}} {
		t.Run(name, func(t *testing.T) {
			r := open(t, runner.Options{Codec: codec})
			var got mail
			mails, err := runner.Handle(r, "mails", func(_ context.Context, j *runner.Job[mail]) error {
				got = j.Args
				return errors.Join(j.SetResult(j.Args.Lines*2), j.Tx.Put([]byte("last"), j.ID))
			}, runner.WorkerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := mail{"ada", 3}
			id, err := mails.Post(t.Context(), want)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := mails.Worker().Tick(t.Context()); n != 1 || err != nil || got != want {
				t.Fatalf("completed %d with %+v, %v", n, got, err)
			}
			m, err := r.Message("mails", id)
			if err != nil || m.State != runner.Done {
				t.Fatalf("%+v, %v", m, err)
			}
			if codec == nil {
				codec = runner.JSON
			}
			if result, _ := codec.Encode(6); !bytes.Equal(m.Result, result) {
				t.Errorf("the result is %q, want %q", m.Result, result)
			}
		})
	}
}

// TestJobOfAnotherType: a payload that does not decode is a dead letter at once.
func TestJobOfAnotherType(t *testing.T) {
	r := open(t, runner.Options{})
	mails, err := runner.Handle(r, "mails", func(context.Context, *runner.Job[mail]) error { return nil },
		runner.WorkerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := runner.Message{Queue: "mails", Payload: []byte("[")}
	if _, err := r.Post(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	if _, err := mails.Worker().Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := r.Message("mails", string(m.ID)); err != nil || info.State != runner.Dead || info.Attempts != 1 {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestPostOptions: each option has its effect.
func TestPostOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, runner.Options{})
		var mu sync.Mutex
		var all []string
		mails, err := runner.Handle(r, "mails", func(_ context.Context, j *runner.Job[string]) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, j.Args)
			return nil
		}, runner.WorkerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		post := func(v string, opts ...runner.PostOption) error {
			_, err := mails.Post(t.Context(), v, opts...)
			return err
		}
		begin := time.Now()
		for _, err := range []error{
			post("ordinary"), post("urgent", runner.Urgent()), post("later", runner.After(time.Hour)),
			post("at", runner.At(begin.Add(2*time.Hour))), post("once", runner.Once("o")),
			post("once", runner.Once("o")),
			post("unique", runner.Unique("u")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := post("unique", runner.Unique("u")); !errors.Is(err, runner.ErrExists) {
			t.Errorf("a second unique one: %v", err)
		}
		if err := mails.Worker().Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			at time.Duration
			n  int
		}{{time.Second, 4}, {59 * time.Minute, 4}, {61 * time.Minute, 5}, {119 * time.Minute, 5},
			{121 * time.Minute, 6}} {
			time.Sleep(time.Until(begin.Add(want.at)))
			synctest.Wait()
			mu.Lock()
			ran := slices.Clone(all)
			mu.Unlock()
			if len(ran) != want.n {
				t.Errorf("after %v these ran: %q, want %d", want.at, ran, want.n)
			}
		}
		mails.Worker().Stop()
		if err := mails.Worker().Join(); err != nil {
			t.Error(err)
		}
		if all[0] != "urgent" || all[4] != "later" || all[5] != "at" {
			t.Errorf("they ran as %q", all)
		}
	})
}

// TestRun: Run ends with its context, finishes the running handlers, and closes the runner.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, runner.Options{})
		began, finished := make(chan struct{}), false
		mails, err := runner.Handle(r, "mails", func(ctx context.Context, _ *runner.Job[mail]) error {
			close(began)
			time.Sleep(3 * time.Second)
			finished = ctx.Err() == nil
			return nil
		}, runner.WorkerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		if _, err := mails.Post(ctx, mail{}); err != nil {
			t.Fatal(err)
		}
		<-began
		stop()
		if err := <-ended; err != nil || !finished || r.State() != runner.Stopped {
			t.Errorf("ended with %v, finished %v, %v", err, finished, r.State())
		}
	})
}

// TestRunAfterReopen: Run ends with the failure of a storage that was reopened meanwhile,
// too.
func TestRunAfterReopen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := runnertest.NewFaulty(memstore.New())
		r, err := runner.Open(s, runner.Options{Create: true, MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- r.Run(t.Context()) }()
		for range 2 {
			synctest.Wait()
			if err := r.Reopen(); err != nil {
				t.Fatal(err)
			}
		}
		s.FailAfter(0, errors.New("the disk is gone"))
		if _, err := r.Post(t.Context(), &runner.Message{To: 7}); !errors.Is(err, runner.ErrFailed) {
			t.Fatalf("got %v, want a failure", err)
		}
		select {
		case err := <-ended:
			if !errors.Is(err, runner.ErrFailed) {
				t.Errorf("Run ended with %v, want the failure", err)
			}
		case <-time.After(time.Hour):
			t.Error("Run goes on")
			r.Close()
		}
	})
}

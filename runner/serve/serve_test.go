package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"wamble/runner"
)

// TestRun: the program runs jobs and shows its page until its context ends, and ends with the
// error of its setup.
func TestRun(t *testing.T) {
	refused := errors.New("no")
	for _, c := range []struct {
		name string
		page bool
		err  error
	}{{"with a page", true, nil}, {"without a page", false, nil}, {"setup fails", false, refused}} {
		t.Run(c.name, func(t *testing.T) {
			address := ""
			if c.page {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				address = l.Addr().String()
				l.Close()
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var shown string
			err := run(ctx, filepath.Join(t.TempDir(), "jobs"), address, func(ctx context.Context, r *runner.Runner) error {
				mails, err := runner.Handle(r, "mails", func(ctx context.Context, j *runner.Job[string]) error {
					defer stop()
					if !c.page {
						return nil
					}
					answer, err := http.Get("http://" + address + "/")
					if err != nil {
						return err
					}
					defer answer.Body.Close()
					text, err := io.ReadAll(answer.Body)
					shown = string(text)
					return err
				}, runner.WorkerOptions{})
				if err == nil {
					_, err = mails.Post(ctx, "hello")
				}
				return errors.Join(err, c.err)
			})
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("got %v, want %v", err, c.err)
			}
			if c.page != strings.Contains(shown, "mails") {
				t.Errorf("the page is %q", shown)
			}
		})
	}
}

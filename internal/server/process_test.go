package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/admin"
	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/observe"
	"wamble/internal/store/schema"
	"wamble/internal/watchtest"
)

// asImage is set in a process that serves and hands over: its value is the data directory, in
// which test.conf is the configuration. A file "trouble" there names the fault of the process
// that is handed over to, and extra.sql is a migration that only such a process has.
const asImage = "WAMBLE_TEST_IMAGE"

// beImage runs such a process. It prints where it listens when it is ready.
func beImage(dir string) {
	successor := os.Getenv(handoff.HotReload) != "" && !strings.Contains(os.Getenv("WAMBLE_HANDOFF"), `"failure"`)
	if successor {
		makeTrouble(dir)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "extra.sql")); err == nil && (successor || handoff.Checking()) {
		schema.Extra = []schema.Migration{{Name: "extra.sql", SQL: string(text),
			Additive: strings.HasPrefix(string(text), "-- additive")}}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	wishes := make(chan os.Signal, 1)
	listen := func() { signal.Notify(wishes, syscall.SIGUSR2) }
	load := func() (Options, error) {
		listen()
		text, err := os.ReadFile(filepath.Join(dir, "test.conf"))
		if err != nil {
			return Options{}, err
		}
		if trouble, _ := os.ReadFile(filepath.Join(dir, "trouble")); successor && string(trouble) == "panic" {
			panic("trouble")
		} else if successor && string(trouble) == "error" {
			return Options{}, fmt.Errorf("trouble")
		}
		c, err := config.Load("test.conf", string(text), config.Params{})
		if err != nil {
			return Options{}, err
		}
		again := func() (*config.Config, error) {
			text, err := os.ReadFile(filepath.Join(dir, "test.conf"))
			if err != nil {
				return nil, err
			}
			return config.Load("test.conf", string(text), config.Params{})
		}
		lease, _ := time.ParseDuration(os.Getenv(asLease))
		return Options{Lease: lease, Config: c, Load: again, Dir: dir, Log: observe.NewLog(os.Stderr, c),
			Handoff: HandoffOptions{Version: "test", Listen: listen}}, nil
	}
	err := Serve(load, func(s *Server) error {
		if successor {
			makeLateTrouble(dir)
		}
		go func() {
			for range wishes {
				s.HandOff(ctx, "", nil)
			}
		}()
		if !s.Inherited() {
			go func() {
				if s.WaitReady(ctx) == nil {
					fmt.Printf("%d %s\n", s.Profiles()[0].UDP.Port(), s.Admin())
				}
			}()
		}
		return s.Run(ctx)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// makeTrouble spoils the inherited state before it is read.
func makeTrouble(dir string) {
	trouble, _ := os.ReadFile(filepath.Join(dir, "trouble"))
	switch string(trouble) {
	case "damage": // the state file: it cannot be adopted
		path := strings.SplitN(os.Getenv("WAMBLE_STATE_FILES"), "=", 2)[1]
		if err := os.Truncate(path, 1000); err != nil {
			panic(err)
		}
	case "exit":
		os.Exit(7)
	case "kill":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// makeLateTrouble ends a process that has adopted everything, and answered nobody.
func makeLateTrouble(dir string) {
	if trouble, _ := os.ReadFile(filepath.Join(dir, "trouble")); string(trouble) == "late kill" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// image is a server in a process of its own that hands over.
type image struct {
	*child
	dir   string
	lease time.Duration // 0: noneDies
}

// spawnImage starts one and waits until it is ready.
func spawnImage(t testing.TB, text string) *image {
	t.Helper()
	i := newImage(t, text)
	i.launch()
	return i
}

// newImage makes the directory of a process that does not run yet.
func newImage(t testing.TB, text string) *image {
	t.Helper()
	i := &image{dir: t.TempDir(), child: &child{t: t, log: &watchtest.Log{}}}
	if err := os.Chmod(i.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	i.write("test.conf", text)
	layFile(t, i.dir, text)
	t.Cleanup(func() {
		if i.cmd != nil {
			i.cmd.Process.Kill() // unless the test has ended it
			i.cmd.Wait()
		}
		if strings.Contains(i.log.String(), "DATA RACE") {
			t.Error("the race detector found something in the server")
		}
		if t.Failed() {
			t.Logf("the log of the server:\n%s", i.log)
		}
	})
	return i
}

// begin starts the process; out is its output when it is ready.
func (i *image) begin() (out io.Reader) {
	i.t.Helper()
	i.cmd = exec.Command(os.Args[0])
	i.cmd.Env = append(os.Environ(), asImage+"="+i.dir, asLease+"="+cmp.Or(i.lease, noneDies).String())
	i.cmd.Stderr = i.log
	out, err := i.cmd.StdoutPipe()
	if err == nil {
		err = i.cmd.Start()
	}
	if err != nil {
		i.t.Fatal(err)
	}
	return out
}

// launch starts the process and waits until it is ready.
func (i *image) launch() {
	i.t.Helper()
	i.awaitReady(i.begin())
}

func (i *image) write(name, text string) {
	i.t.Helper()
	if err := os.WriteFile(filepath.Join(i.dir, name), []byte(text), 0o600); err != nil {
		i.t.Fatal(err)
	}
}

// handOff requests a handoff, as the command does.
func (i *image) handOff(binary string) (handoff.Result, error) {
	var done handoff.Result
	err := admin.Ask(context.Background(), i.dir, "handoff", admin.Arguments{Binary: binary}, &done)
	return done, err
}

// state returns the state that the process reports.
func (i *image) state(t testing.TB) string { return (&machine{dir: i.dir}).state(t) }

// status returns the server's status.
func (i *image) status() admin.Status {
	i.t.Helper()
	var s admin.Status
	if err := admin.Ask(context.Background(), i.dir, "status", nil, &s); err != nil {
		i.t.Fatal(err)
	}
	return s
}

// leftovers returns the state files that were not removed.
func (i *image) leftovers() []string {
	found, err := filepath.Glob(filepath.Join(i.dir, "handoff-*"))
	if err != nil {
		i.t.Fatal(err)
	}
	return found
}

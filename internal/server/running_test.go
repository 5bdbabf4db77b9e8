package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/sqlite"
)

// three is a configuration with three profiles: two share a database, one has
// its own.
func three(more string) string {
	return conf(`(def advertise 1)
(defprofile red ((def port 0)))
(defprofile green ((def port 0)))
(defprofile blue ((def port 0) (def db-isolated 1)))
` + more)
}

// TestSeveralProfiles: each profile has its players, its boards and its store,
// in one process and one journal.
func TestSeveralProfiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, Options{Dir: dir}, three("")).ready()
	crowds := map[string]*crowd{}
	for _, p := range s.Profiles() {
		crowds[p.Profile] = gather(t, "udp://"+p.UDP.String(), 3)
		crowds[p.Profile].play()
	}
	for _, c := range crowds {
		c.more(t, 50)
	}
	for _, c := range crowds {
		c.finish()
	}
	s.end()
	for profile, file := range map[string]string{"red": "games.db", "green": "games.db", "blue": "games-blue.db"} {
		store, err := sqlite.Open(sqlite.Options{Path: dir + "/" + file})
		if err != nil {
			t.Fatal(err)
		}
		crowds[profile].verifyProfile(t, store, profile)
		store.Close()
	}
}

// TestStartStatuses: each error that keeps profiles from starting has its status, and then
// nothing is bound.
func TestStartStatuses(t *testing.T) {
	t.Parallel()
	taken, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.LocalAddr().(*net.UDPAddr).Port
	clash := loadConf(t, conf("(def advertise 1)(defprofile a ((def port 40001)))(defprofile b ((def port 40002)))"))
	clash.Profiles[1].Network.Port = 40001
	for _, tc := range []struct {
		name   string
		config *config.Config
		o      Options
		want   StartStatus
	}{
		{"two profiles with one port", clash, Options{}, StartConflict},
		{"the port is taken", loadConf(t, conf(fmt.Sprintf("(defprofile a ((def advertise 1) (def port %d)))", port))), Options{}, StartBindError},
		{"the port of the default runtime is taken", loadConf(t, conf(fmt.Sprintf("(def port %d)", port))), Options{}, StartNoSocket},
		{"the store cannot be opened", loadConf(t, conf(`(def db-pass-file "/nonexistent/secret")`)), Options{}, StartThreadError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.o.Config, tc.o.Dir = tc.config, t.TempDir()
			s, err := Open(tc.o)
			var start *StartError
			if !errors.As(err, &start) || start.Status != tc.want {
				t.Fatalf("got %v, %v, want %v", s, err, tc.want)
			}
			if !strings.Contains(err.Error(), tc.want.String()) ||
				!strings.Contains(err.Error(), "profile "+start.Profile) {
				t.Errorf("the error says %q", err)
			}
		})
	}
	if got := bindError("a", syscall.EMFILE).(*StartError).Status; got != StartSocketError {
		t.Errorf("too many open files: got %v", got)
	}
}

// TestCrash: a profile that panics is reported, dumped and started again; the other profiles
// are unaffected, and no move is lost.
func TestCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serve(t, Options{Dir: dir}, three("")).ready()
	red, green := gather(t, "udp://"+s.Profiles()[0].UDP.String(), 4),
		gather(t, "udp://"+s.Profiles()[1].UDP.String(), 4)
	red.play()
	green.play()
	for i := range 2 {
		red.more(t, 50)
		s.crash("a test panics in the loop")
		until(t, "the profile has failed",
			func() bool { n, _ := s.profiles()[0].shards[0].failures(); return n == i+1 })
		green.more(t, 50)
		red.more(t, 50)
	}
	if n, _ := s.profiles()[1].shards[0].failures(); n != 0 {
		t.Errorf("another profile failed %d times", n)
	}
	red.finish()
	green.finish()
	s.end()
	if log := s.log.String(); !strings.Contains(log, "panic in the loop: a test panics in the loop") ||
		!strings.Contains(log, "crash-red-") {
		t.Error("the log does not tell of the panic and its dump")
	}
	dumps, _ := filepath.Glob(filepath.Join(dir, "crash-red-*.txt"))
	if len(dumps) == 0 {
		t.Fatal("there is no dump")
	}
	if text, err := os.ReadFile(dumps[0]); err != nil || !strings.Contains(string(text), "a test panics in the loop") ||
		!strings.Contains(string(text), "rig_test.go") {
		t.Errorf("the dump tells neither why nor where: %v\n%s", err, text)
	}
	if info, err := os.Stat(dumps[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the dump may be read by others: %v, %v", info, err)
	}
	store := openSQLite(t, dir)
	red.verifyProfile(t, store, "red")
	green.verifyProfile(t, store, "green")
}

// TestAllFailed: a server none of whose profiles can start reports why and ends; if one can,
// the other is started again until it succeeds too.
func TestAllFailed(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	pgtest.Execute(t, db, `INSERT INTO schema_migrations (version, name) VALUES (99, '099_tomorrow.sql')`)
	s := serve(t, Options{}, conf(postgresConf(db)))
	<-s.done
	if s.err == nil || !strings.Contains(s.err.Error(), "profile default: ") ||
		!strings.Contains(s.err.Error(), "newer") {
		t.Errorf("the server ended with %v", s.err)
	}
	s.err = nil

	s = serve(t, Options{}, conf("(def advertise 1)(defprofile well ())(defprofile ill ("+postgresConf(db)+"))"))
	until(t, "one profile has failed twice",
		func() bool { n, _ := s.profiles()[1].shards[0].failures(); return n >= 2 })
	gather(t, s.address(), 1).players[0].move(t.Context())
	until(t, "/readyz says which", func() bool { // between two tries
		return strings.HasPrefix(s.readyz(), "503 ill: to be started again, after a failure: ")
	})
	pgtest.Execute(t, db, `DELETE FROM schema_migrations WHERE version = 99`)
	s.ready()
}

// TestDumpsOfOthers: a profile keeps its newest dumps and deletes none of a profile
// whose name begins with its own.
func TestDumpsOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	crash := func(name string) {
		err := guard.Call("a test", func() error { panic("on purpose") })
		(&dumps{dir: dir}).write(slog.New(slog.DiscardHandler), "crash", name, err)
	}
	crash("a-b")
	crash("a-1")
	for i := range 2 * maxDumps { // older than any that is made now
		name := filepath.Join(dir, fmt.Sprintf("crash-a-20010101T0000%02d.000.txt", i))
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	crash("a")
	for pattern, want := range map[string]int{"crash-a-2*.txt": maxDumps, "crash-a-b-*.txt": 1, "crash-a-1-*.txt": 1} {
		if got, _ := filepath.Glob(filepath.Join(dir, pattern)); len(got) != want {
			t.Errorf("%s: got %q, want %d", pattern, got, want)
		}
	}
}

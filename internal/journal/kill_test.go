package journal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"wamble/internal/prooftest"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// childVar makes the test binary a child that posts until it is killed.
const childVar = "WAMBLE_PERSIST_CHILD"

// life has the parameters of a child process.
type life struct {
	Dir      string
	SQLite   string
	Postgres postgres.Options
	First    int    // message to begin with
	Seed     uint64 // of the sizes of its groups
	// Suicide is after how many transactions of the store the child kills
	// itself, between the commit and the acknowledgement; 0: never.
	Suicide int
}

// child posts groups for ever, and writes a line "first count" for each before
// it is posted and "ack first count" when it is durable.
func child() {
	var l life
	if err := json.Unmarshal([]byte(os.Getenv(childVar)), &l); err != nil {
		panic(err)
	}
	var store store.Store
	var err error
	if l.SQLite != "" {
		store, err = openSQLite(l.SQLite)
	} else {
		store, err = postgres.Open(l.Postgres)
	}
	if err != nil {
		panic(err)
	}
	ln, err := openLine(context.Background(), l.Dir, &suicidal{Store: store, left: l.Suicide})
	if err != nil {
		panic(err)
	}
	rng := rand.New(rand.NewPCG(l.Seed, 0))
	for k := l.First; ; {
		n := 1 + rng.IntN(60)
		fmt.Println("post", k, n)
		if err := ln.post(k, n); err != nil {
			panic(err)
		}
		fmt.Println("ack", k, n)
		k += n
	}
}

// suicidal kills its process after some transactions, before the last one is acknowledged.
type suicidal struct {
	store.Store
	left int
}

func (s *suicidal) Apply(ctx context.Context, b store.Batch) error {
	err := s.Store.Apply(ctx, b)
	if err == nil && s.left > 0 {
		if s.left--; s.left == 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			time.Sleep(time.Hour) // until it is killed; select {} would be found to be a deadlock
		}
	}
	return err
}

// TestKillSQLite and TestKillPostgres kill -9 the writing process again and
// again, at random points and between COMMIT and acknowledgement.
func TestKillSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "games.db")
	store, err := openSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := store.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	acked, posted := kill(t, life{Dir: dir, SQLite: path})
	finish(t, dir, store, acked, posted)
}

func TestKillPostgres(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := pgtest.Migrated(t)
	acked, posted := kill(t, life{Dir: dir, Postgres: o})
	finish(t, dir, openPostgres(t, o), acked, posted)
}

func kill(t *testing.T, l life) (acked, posted map[int]bool) {
	acked, posted = map[int]bool{}, map[int]bool{}
	rng := prooftest.Random(t)
	for range prooftest.Part(100) {
		l.Seed, l.Suicide = rng.Uint64(), 0
		lines := 50 + rng.IntN(400)
		if rng.IntN(2) == 0 {
			l.Suicide = 1 + rng.IntN(6)
		}
		last := oneLife(t, l, lines, acked, posted)
		// A message that was posted but not acknowledged may be there or not: the next
		// process begins with a board of its own, and with no session to make.
		l.First = (last/plies + 1) * plies
	}
	return acked, posted
}

// oneLife runs a child until it has written so many lines or killed itself, and
// returns the highest message that it may have posted.
func oneLife(t *testing.T, l life, lines int, acked, posted map[int]bool) int {
	t.Helper()
	config, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+string(config))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := l.First
	scan := bufio.NewScanner(out)
	for n := 0; scan.Scan(); n++ {
		if n == lines {
			cmd.Process.Kill()
		}
		word, first, count := parse(t, scan.Text())
		for k := first; k < first+count; k++ {
			if word == "ack" {
				acked[k] = true
			} else {
				posted[k] = true
			}
			last = max(last, k)
		}
	}
	cmd.Wait()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, not by a kill: %s", cmd.ProcessState, stderr.String())
	}
	return last
}

func parse(t *testing.T, line string) (word string, first, count int) {
	t.Helper()
	fields := strings.Fields(line)
	if len(fields) != 3 {
		t.Fatalf("the child wrote %q", line)
	}
	first, err1 := strconv.Atoi(fields[1])
	count, err2 := strconv.Atoi(fields[2])
	if err1 != nil || err2 != nil {
		t.Fatalf("the child wrote %q", line)
	}
	return fields[0], first, count
}

package pgtest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"wamble/internal/store/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// TestGuard kills a test process that started a cluster, and waits for the
// server's end in a query that would take an hour.
func TestGuard(t *testing.T) {
	if os.Getenv("WAMBLE_TEST_ORPHAN") != "" {
		fmt.Println(pgtest.Start(t, false).Server().DSN())
		time.Sleep(time.Hour) // until it is killed; select {} would be found to be a deadlock
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	orphan := exec.Command(self, "-test.run=^TestGuard$")
	orphan.Env = append(os.Environ(), "WAMBLE_TEST_ORPHAN=1")
	out, err := orphan.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := orphan.Start(); err != nil {
		t.Fatal(err)
	}
	dsn, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if err := orphan.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = orphan.Wait() // it was killed
	if _, err := conn.Exec(t.Context(), "SELECT pg_sleep(3600)"); err == nil {
		t.Error("the server went on after its test process died")
	}
	_ = conn.Close(t.Context())
}

// TestDatabases checks that each test has a database of its own, on a server
// that takes writes.
func TestDatabases(t *testing.T) {
	t.Parallel()
	one, two, empty := pgtest.Migrated(t), pgtest.Migrated(t), pgtest.Empty(t)
	pgtest.Execute(t, one, `INSERT INTO boards (fen, status) VALUES ('x', 'ACTIVE')`)
	if got := pgtest.Query[int](t, one, `SELECT count(*) FROM boards`); got != 1 {
		t.Errorf("the first database: got %d boards, want 1", got)
	}
	if got := pgtest.Query[int](t, two, `SELECT count(*) FROM boards`); got != 0 {
		t.Errorf("the second database: got %d boards, want 0", got)
	}
	if got := pgtest.Query[bool](t, empty, `SELECT to_regclass('boards') IS NULL`); !got {
		t.Error("the empty database has boards")
	}
}

package server

import (
	"bufio"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"wamble/internal/watchtest"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// asHolder is set in a child process that has the journal of a directory, until its
// standard input ends.
const asHolder = "WAMBLE_TEST_HOLDER"

func beHolder(dir string) {
	r, err := openJournal(pebblestore.At(JournalDir(dir), pebblestore.Options{}),
		runner.Options{Schema: JournalSchema, Create: true, MinFree: -1}, false)
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("held\n")
	io.Copy(io.Discard, os.Stdin)
	r.Close()
}

// TestLockOfDyingProcess: a start waits for the lock of a process that no longer answers, and
// reports that; if the server with the lock answers, the start is refused at once.
func TestLockOfDyingProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dying, in, out := converse(t, asHolder+"="+dir)
	defer dying.Wait()
	defer in.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatal(line, err)
	}
	const waits = "another process uses the journal"
	log := &watchtest.Log{}
	o := Options{Dir: dir, LockTime: patience, Log: slog.New(slog.NewTextHandler(log, nil))}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for t.Context().Err() == nil && !strings.Contains(log.String(), waits) {
			sleep(t.Context(), time.Millisecond)
		}
		in.Close()
	}()
	serve(t, o, conf("")).ready()
	<-done
	log = &watchtest.Log{}
	_, err := Open(Options{Config: loadConf(t, conf("")), Dir: dir, LockAnswer: patience,
		Log: slog.New(slog.NewTextHandler(log, nil))})
	if err == nil || !strings.Contains(err.Error(), "another server uses") {
		t.Errorf("beside a server that answers: got %v", err)
	}
	if strings.Contains(log.String(), waits) {
		t.Error("it waits for a server that answers")
	}
}

package server

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"wamble/runner"
	"wamble/runner/pebblestore"
)

// asHolder is set in a child process that has the journal of a directory, until its
// standard input ends.
const asHolder = "WAMBLE_TEST_HOLDER"

func beHolder(dir string) {
	r, err := openJournal(pebblestore.At(JournalDir(dir), pebblestore.Options{}), runner.Options{Schema: JournalSchema, Create: true, MinFree: -1}, false)
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("held\n")
	io.Copy(io.Discard, os.Stdin)
	r.Close()
}

// TestLockOfDyingProcess: a start waits for the lock of a process that does not answer
// any more, and says so; one whose server answers is refused at once.
func TestLockOfDyingProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dying, in, out := converse(t, asHolder+"="+dir)
	defer dying.Wait()
	defer in.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatal(line, err)
	}
	time.AfterFunc(2*lockAnswer, func() { in.Close() })
	s := serve(t, Options{Dir: dir}, conf("")).ready()
	if got := s.log.String(); !strings.Contains(got, "another process uses the journal") {
		t.Errorf("the log does not say what it waits for:\n%s", got)
	}
	began := time.Now()
	if _, err := Open(Options{Config: loadConf(t, conf("")), Dir: dir}); err == nil || !strings.Contains(err.Error(), "another server uses") || time.Since(began) > lockTime {
		t.Errorf("beside a server that answers: got %v after %v", err, time.Since(began))
	}
}

//go:build proof

package server

import (
	"errors"
	"fmt"
	"testing"

	"wamble/internal/prooftest"
	"wamble/runner"
	"wamble/runner/logstore"
	"wamble/runner/logstore/logtest"
)

// TestJournalMemory: a journal in PostgreSQL takes moves with any number of shards, by
// default and with the least memory, until an eighth of a shard's share is left.
func TestJournalMemory(t *testing.T) {
	prooftest.Needs(t, "memory")
	t.Parallel()
	for _, more := range []string{"", "(def journal-memory-mb 256) (def disk-reserve-mb 1048576)"} {
		for _, shards := range []int{1, 4, 8, 32, 64} {
			s := &Server{o: Options{Config: loadConf(t,
				fmt.Sprintf(`(def journal "postgres") (def db-name "x") (def shards %d) %s`, shards, more))}}
			share := s.o.Config.Server.JournalMemory << 20 / shards
			r, err := runner.Open(logstore.New(new(logtest.Memory), "main",
				logstore.Options{MaxBytes: s.partitionMemory()}), s.journalOptions())
			if err != nil {
				t.Fatalf("%d shards %s: %v", shards, more, err)
			}
			const size = 256 << 10
			taken := 0
			for ; taken <= 4<<20; taken += size { // a whole share of the smallest
				if _, err = r.Update(t.Context(), runner.AttemptPolicy{}, func(tx *runner.Tx) error {
					return tx.Put(fmt.Append(nil, taken), make([]byte, size))
				}); err != nil {
					break
				}
			}
			if least := min(share*3/4, 4<<20); taken < least {
				t.Errorf("%d shards %s: %d bytes were taken, want %d at least: %v", shards, more, taken, least, err)
			}
			if share <= 4<<20 && !errors.Is(err, runner.ErrNoSpace) {
				t.Errorf("%d shards %s: a share of %d bytes was filled with %d: got %v, want %v", shards, more, share,
					taken, err, runner.ErrNoSpace)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

package profile

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Stamp is the message of a journal that brings a change to the store.
type Stamp struct {
	Journal uint64 `json:",omitempty"` // JournalHash; 0: the message is unknown
	Message uint64 `json:",omitempty"`
}

// JournalHash returns the number that stands for the journal of a profile, or of a shard, in stamps.
func JournalHash(journal [16]byte, profile string) uint64 {
	sum := sha256.Sum256(append(journal[:], profile...))
	return max(1, binary.LittleEndian.Uint64(sum[:]))
}

// Cursors is how far a store has come with each journal: the last message of each.
type Cursors []Stamp

// Has reports whether the store had a message. It reports false for a stamp without a journal.
func (c Cursors) Has(s Stamp) bool {
	for _, at := range c {
		if s.Journal != 0 && at.Journal == s.Journal {
			return s.Message <= at.Message
		}
	}
	return false
}

// PeerMessageAge bounds how long a change takes from one machine to another.
const PeerMessageAge = time.Minute

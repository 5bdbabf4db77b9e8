package wamble

import "fmt"

// Numbers of rows. Each is taken in memory from a block that was leased from the table's own sequence, so a
// row's number is known before the row is written. Zero means "none".
type (
	SessionID    int64
	PlayerID     int64
	PredictionID int64
)

// BoardID numbers a board within the whole installation. Zero means "no board".
type BoardID uint64

// PublicKey is the Ed25519 key of an identity.
type PublicKey [32]byte

// IsZero reports whether k is no key, as for an anonymous session.
func (k PublicKey) IsZero() bool { return k == PublicKey{} }

// Sequence names a table whose numbers are leased in blocks.
type Sequence uint8

// The closed list of sequences.
const (
	BoardIDs Sequence = iota
	SessionIDs
	PlayerIDs
	PredictionIDs
	sequences // their number
)

// Sequences lists all sequences.
func Sequences() []Sequence {
	all := make([]Sequence, sequences)
	for i := range all {
		all[i] = Sequence(i)
	}
	return all
}

// String returns the name of the table.
func (s Sequence) String() string {
	names := [sequences]string{"boards", "sessions", "players", "predictions"}
	if s < sequences {
		return names[s]
	}
	return fmt.Sprintf("Sequence(%d)", uint8(s))
}

// Block is consecutive leased numbers: First, First+1 … First+Count-1.
type Block struct {
	First int64
	Count int64
}

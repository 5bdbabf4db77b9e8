package store

import (
	"fmt"
	"time"
)

// Owner is the process that writes a profile's games into a database. There is
// one at a time: two would both take a move on the same board.
type Owner struct {
	Journal JournalID
	Host    string
	PID     int
	Since   time.Time // to the microsecond, in UTC
}

// Same reports whether two owners are the same process.
func (o Owner) Same(other Owner) bool {
	return o.Journal == other.Journal && o.Host == other.Host && o.PID == other.PID && o.Since.Equal(other.Since)
}

// Follows reports whether o is a later process on the journal of other: after a
// crash, or a handoff. A journal has one process at a time, so the other one is
// gone, or works on a copy.
func (o Owner) Follows(other Owner) bool {
	return o.Journal == other.Journal && o.Since.After(other.Since)
}

func (o Owner) String() string {
	if o.Host == "" {
		return "one that has ended by now"
	}
	return fmt.Sprintf("process %d on host %s, since %s", o.PID, o.Host, o.Since.UTC().Format(time.DateTime+" MST"))
}

// Owned is returned by Own, Beat and Apply when a profile belongs to another
// process, or did since it was ours: then By is zero.
type Owned struct {
	By      Owner
	Profile string // or its shard; "": of whom it was asked, or all of the database
	// Beat changes whenever the owner is heard. 0: the owner is known to live.
	Beat int64
}

func (e *Owned) Error() string {
	return fmt.Sprintf("another server writes this profile's games into this database: %s. "+
		"Two would take different moves on one board. Stop that server, or give this profile another name or database", e.By)
}

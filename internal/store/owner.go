package store

import (
	"fmt"
	"time"
)

// Owner is the process that writes a profile's games into a database. A profile has one owner
// at a time: two would both accept a move on the same board.
type Owner struct {
	Journal JournalID
	Host    string
	PID     int
	Since   time.Time // precision of microseconds, in UTC
}

// Same reports whether two owners are the same process.
func (o Owner) Same(other Owner) bool {
	return o.Journal == other.Journal && o.Host == other.Host && o.PID == other.PID && o.Since.Equal(other.Since)
}

// Follows reports whether o is a later process on the same journal as other, after a crash or a
// handoff. A journal has one process at a time, so the other process has ended, or works on a
// copy.
func (o Owner) Follows(other Owner) bool {
	return o.Journal == other.Journal && o.Since.After(other.Since)
}

func (o Owner) String() string {
	if o.Host == "" {
		return "one that has ended by now"
	}
	return fmt.Sprintf("process %d on host %s, since %s", o.PID, o.Host, o.Since.UTC().Format(time.DateTime+" MST"))
}

// Owned is returned by Own, Beat and Apply when a profile belongs to another process, or did
// since this process owned it: then By is zero.
type Owned struct {
	By      Owner
	Profile string // name of the profile or shard; "" for the one in the call, or for the whole database
	// Beat changes with every beat of the owner; 0 if the owner is known to be alive.
	Beat int64
}

func (e *Owned) Error() string {
	return fmt.Sprintf("another server writes this profile's games into this database: %s. "+
		"Two would take different moves on one board. Stop that server, or give this profile another name or database",
		e.By)
}

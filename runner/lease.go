package runner

import (
	"encoding/binary"
	"fmt"
	"time"
)

const (
	leaseMagic = "LSE0"
	leaseLen   = 24
)

// Lease is the right of a worker to run one row until a deadline, as a listing shows
// it.
type Lease struct {
	// Owner is 0 for nobody: the row is parked, to be run again after Deadline.
	// Otherwise it names the worker, another one after every start.
	Owner uint64
	// Deadline is when somebody else may have the row, unless the lease is renewed. It
	// is 1970 for the lease of a process that is gone.
	Deadline time.Time
	// Attempts counts deliveries, this one included.
	Attempts uint32
}

// lease is a Lease as it is stored. The whole value is the token: whoever wants to
// acknowledge, requeue or renew must present the lease that is stored, be it renewed.
//
// A lease without an owner is a parked row: nobody may take it before its
// deadline. It is how a delayed retry waits, and how the count of attempts
// travels with a message that goes back to the tail.
type lease struct {
	// Owner holds the boot epoch in its upper and the claimant in its lower 32
	// bits; 0 is nobody. Claimants from 1<<31 on are the workers of that boot,
	// each Worker with a number of its own.
	Owner uint64
	// Deadline is in milliseconds; the lease holds up to and including it.
	Deadline int64
	// Attempts counts deliveries, this one included. It is written before
	// the handler runs, so that a crash in the handler is counted too.
	Attempts uint32
}

// public is l for a listing, with a deadline that JSON can hold.
func (l lease) public() Lease {
	const last = 253402300799999 // of the year 9999
	return Lease{l.Owner, time.UnixMilli(min(max(l.Deadline, 0), last)), l.Attempts}
}

// firstWorker is the number of the first worker as a claimant.
const firstWorker = 1 << 31

// owner is the claimant's instance: the same one in a later boot is another.
func owner(epoch, claimant uint32) uint64 { return uint64(epoch)<<32 | uint64(claimant) }

// same reports whether l and k are one claim, be it renewed meanwhile.
func (l lease) same(k lease) bool { return l.Owner == k.Owner && l.Attempts == k.Attempts }

func (l lease) epoch() uint32 { return uint32(l.Owner >> 32) }

func (l lease) append(dst []byte) []byte {
	dst = append(dst, leaseMagic...)
	dst = binary.LittleEndian.AppendUint64(dst, l.Owner)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(l.Deadline))
	return binary.LittleEndian.AppendUint32(dst, l.Attempts)
}

func decodeLease(b []byte) (lease, error) {
	if len(b) != leaseLen || string(b[:4]) != leaseMagic {
		return lease{}, fmt.Errorf("lease of %d bytes: %w", len(b), ErrFormat)
	}
	return lease{
		Owner:    binary.LittleEndian.Uint64(b[4:]),
		Deadline: int64(binary.LittleEndian.Uint64(b[12:])),
		Attempts: binary.LittleEndian.Uint32(b[20:]),
	}, nil
}

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

// Lease is the right of a worker to run one row until a deadline.
type Lease struct {
	// Owner is 0 if the row is parked, to be run again after Deadline. Otherwise it identifies
	// the worker, with a new value after every start.
	Owner uint64
	// Deadline is when another worker may take the row, unless the lease is renewed. It is 1970
	// for the lease of an ended process.
	Deadline time.Time
	// Attempts is the number of deliveries, including this one.
	Attempts uint32
}

// lease is the stored form of a Lease. Its value is the token: acknowledging, requeueing or
// renewing requires the stored lease, which may have been renewed.
//
// A lease without an owner is a parked row: no worker may take it before its deadline. So a
// delayed retry waits, and the number of attempts stays with a message that goes back to the
// tail.
type lease struct {
	// Owner has the boot epoch in its upper and the claimant in its lower 32 bits; 0 means
	// none. Claimants from 1<<31 on are the workers of that boot, each Worker with its own
	// number.
	Owner uint64
	// Deadline is in milliseconds; the lease is valid up to and including it.
	Deadline int64
	// Attempts is the number of deliveries, including this one. It is written before the
	// handler runs, so that a crash in the handler is counted too.
	Attempts uint32
}

// public returns l for a listing, with a deadline that JSON can represent.
func (l lease) public() Lease {
	const last = 253402300799999 // of the year 9999
	return Lease{l.Owner, time.UnixMilli(min(max(l.Deadline, 0), last)), l.Attempts}
}

// firstWorker is the claimant number of the first worker.
const firstWorker = 1 << 31

// owner returns a claimant of an epoch: the same claimant in a later boot is another owner.
func owner(epoch, claimant uint32) uint64 { return uint64(epoch)<<32 | uint64(claimant) }

// same reports whether l and k are the same claim, perhaps renewed.
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

package handoff

import (
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	largePage = 2 << 20
	joinPart  = 16 * largePage // bytes that one call joins, in about 20 ms
)

// joinPages joins this process's memory to large pages until a deadline, so that exec frees
// it faster. Pages that cannot be joined (before Linux 6.1 none can) are left as they are.
func joinPages(until time.Time) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for _, s := range largeSpans(string(maps)) {
		for at := s.from; at < s.to; at += joinPart {
			if time.Now().After(until) {
				return
			}
			unix.Syscall(unix.SYS_MADVISE, at, min(joinPart, s.to-at), unix.MADV_COLLAPSE)
		}
	}
}

// span is a half-open range of addresses, aligned to large pages.
type span struct{ from, to uintptr }

// largeSpans returns the ranges of private, writable, anonymous memory in the text of
// /proc/self/maps.
func largeSpans(maps string) (spans []span) {
	for line := range strings.Lines(maps) {
		fields := strings.Fields(line) // addresses, rights, offset, device, inode, name
		if len(fields) < 5 || fields[1] != "rw-p" || fields[4] != "0" {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		first, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		first, end = (first+largePage-1)/largePage*largePage, end/largePage*largePage
		if err1 == nil && err2 == nil && first < end {
			spans = append(spans, span{uintptr(first), uintptr(end)})
		}
	}
	return spans
}

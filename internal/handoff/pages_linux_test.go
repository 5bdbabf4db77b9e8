package handoff

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

func TestLargeSpans(t *testing.T) {
	const maps = `00400000-00900000 r-xp 00000000 fe:00 42     /usr/bin/wamble
00a00000-00b00000 rw-p 00000000 00:00 0 
c000000000-c004000000 rw-p 00000000 00:00 0      [anon: Go: heap]
c004000000-c008000000 ---p 00000000 00:00 0      [anon: Go: heap reservation]
7f0000100000-7f0000700000 rw-p 00000000 00:00 0 
7f0001000000-7f0002000000 rw-s 00000000 00:00 0 
7f0003000000-7f0004000000 rw-p 00000000 fe:00 43 /var/lib/wamble/state
nonsense
`
	want := []span{{0xc000000000, 0xc004000000}, {0x7f0000200000, 0x7f0000600000}}
	if got := largeSpans(maps); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// TestJoinPages: memory keeps its content, and a deadline in the past ends the work.
func TestJoinPages(t *testing.T) {
	memory := bytes.Repeat([]byte("wamble!\n"), 4<<20)
	want := bytes.Clone(memory)
	joinPages(time.Now().Add(time.Minute))
	if !bytes.Equal(memory, want) {
		t.Error("memory has changed")
	}
	began := time.Now()
	joinPages(began)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it ended after %v", took)
	}
}

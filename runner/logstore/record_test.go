package logstore

import (
	"encoding/hex"
	"testing"
	"time"
)

// TestRecordBytes: the bytes of a record are a stored format.
func TestRecordBytes(t *testing.T) {
	b := appendHead(nil)
	b = appendSet(b, []byte("key"), []byte("value"))
	b = appendDelete(b, []byte("old"))
	b = seal(b, time.UnixMilli(0x0102030405))
	const want = "01" + "0000000102030405" + "06" + "6b6579" + "05" + "76616c7565" + "07" + "6f6c64" + "6531ce40"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzRecord: any record is applied or refused, and one that is applied can be written again.
func FuzzRecord(f *testing.F) {
	f.Add([]byte{6, 'k', 'e', 'y', 1, 'v', 7, 'o', 'l', 'd'})
	f.Add([]byte{0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, changes []byte) {
		r := newRows()
		_, err := r.apply(seal(append(appendHead(nil), changes...), time.UnixMilli(5)))
		if err != nil {
			return
		}
		again := newRows()
		for record := range r.records(time.UnixMilli(6)) {
			if _, err := again.apply(record); err != nil {
				t.Fatal(err)
			}
		}
		if again.tree.Len() != r.tree.Len() || again.bytes != r.bytes {
			t.Errorf("written again: %d rows of %d bytes, want %d of %d", again.tree.Len(), again.bytes, r.tree.Len(),
				r.bytes)
		}
		if _, err := r.apply(changes); err == nil && len(changes) < headLen+sumLen {
			t.Error("a record without a head was applied")
		}
	})
}

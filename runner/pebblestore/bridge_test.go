package pebblestore

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// leaveBridge writes a bridge as a version before 0.9 left it: one record for each key, and the
// beginning of another.
func leaveBridge(t *testing.T, s *Storage, keys ...string) {
	t.Helper()
	id := bridgeID{1, 2, 3}
	text := append([]byte(bridgeMagic), id[:]...)
	for _, key := range keys {
		var b pebble.Batch
		if err := b.Set([]byte(key), []byte("value"), nil); err != nil {
			t.Fatal(err)
		}
		at := len(text)
		text = binary.LittleEndian.AppendUint32(text, uint32(len(b.Repr())))
		text = binary.LittleEndian.AppendUint32(text, sumOf(id, at, b.Repr()))
		text = append(text, b.Repr()...)
	}
	text = append(text, 9, 0, 0, 0, 'x')
	file, err := s.fs.Create(s.bridgePath(), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOldBridge opens a storage in which a killed process of a version before 0.9 left a bridge.
// Its records are read, once: a file that comes back after a crash changes nothing.
func TestOldBridge(t *testing.T) {
	t.Parallel()
	s := at(vfs.NewMem(), "/r", Options{})
	fail := func(err error) { t.Error(err) }
	open := func() (keys []string) {
		b, err := s.Open(fail)
		if err != nil {
			t.Fatal(err)
		}
		visit := func(k, _ []byte) bool { keys = append(keys, string(k)); return true }
		if err := b.Scan([]byte("a"), []byte("z"), visit); err != nil {
			t.Error(err)
		}
		batch := b.Batch()
		batch.Delete([]byte("b"))
		if err := batch.Commit(); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		return keys
	}
	open()
	leaveBridge(t, s, "a", "b")
	if b, err := s.OpenReadOnly(fail); err == nil {
		t.Errorf("opened read-only without the rows of the bridge: %v", b.Close())
	}
	if got, want := open(), []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("keys: got %q, want %q", got, want)
	}
	if _, err := s.fs.Stat(s.bridgePath()); err == nil {
		t.Error("the bridge is still there")
	}
	leaveBridge(t, s, "a", "b")
	if got, want := open(), []string{"a"}; !slices.Equal(got, want) {
		t.Errorf("keys after the file came back: got %q, want %q", got, want)
	}
}

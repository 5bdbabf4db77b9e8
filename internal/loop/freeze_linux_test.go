package loop

import (
	"testing"

	"wamble/internal/watchtest"
)

// TestFreezeHolds: while a loop is frozen the receive buffer has room for what arrives, also if the loop froze at once.
func TestFreezeHolds(t *testing.T) {
	read, unread := 0, 0
	var err error
	rt := runAdopted(t, nil, func(o *Options) { unread, _, err = o.Port.UDP().Buffers() })
	u := rt.o.Port.UDP()
	watchtest.Until(t, "the loop reads", func() bool {
		rt.wake()
		read, _, err = u.Buffers()
		return err != nil || read < unread
	})
	f, ok := rt.Freeze(t.Context())
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer f.Thaw()
	if held, _, err := u.Buffers(); held <= read || err != nil {
		t.Errorf("the frozen loop's buffer has %d bytes, %v; it had %d", held, err, read)
	}
}

package schema

import (
	"testing"
	"time"
)

// TestMoment scans a time from what each driver hands over.
func TestMoment(t *testing.T) {
	want := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	for _, column := range []any{want.UnixMicro(), want.In(time.FixedZone("east", 5*3600))} {
		var got time.Time
		if err := at(&got).Scan(column); err != nil || got != want {
			t.Errorf("%T: got %v, %v, want %v", column, got, err, want)
		}
	}
	got := want
	if err := at(&got).Scan(nil); err != nil || !got.IsZero() {
		t.Errorf("NULL: got %v, %v, want no time", got, err)
	}
	if err := at(&got).Scan("noon"); err == nil {
		t.Error("a text: got no error")
	}
}

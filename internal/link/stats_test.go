package link

import (
	"reflect"
	"testing"
)

// Every field of Stats has its row, and every row a field and a unique name.
func TestStatsTable(t *testing.T) {
	var s Stats
	if fields := reflect.TypeOf(s).NumField(); len(stats) != fields {
		t.Errorf("%d rows for %d counters", len(stats), fields)
	}
	names := map[string]bool{}
	for i, row := range stats {
		*row.of(&s) = uint64(i + 1)
		if names[row.name] || row.help == "" {
			t.Errorf("row %q is there twice, or does not explain itself", row.name)
		}
		names[row.name] = true
	}
	want := uint64(0)
	s.Each(func(name, _ string, got uint64) {
		if want++; got != want {
			t.Errorf("%s is %d, want %d: two rows name one counter", name, got, want)
		}
	})
}

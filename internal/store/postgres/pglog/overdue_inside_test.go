package pglog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestOverdueAppend: an append that took too long names the standby that the database waits
// for, if it waits for one.
func TestOverdueAppend(t *testing.T) {
	late := fmt.Errorf("timeout: %w", context.DeadlineExceeded)
	got := (&held{standbys: "FIRST 1 (standby)"}).overdue(late)
	if !errors.Is(got, context.DeadlineExceeded) ||
		!strings.Contains(got.Error(), "synchronous standby (FIRST 1 (standby)), which may be gone") {
		t.Errorf("got %v", got)
	}
	if got := (&held{}).overdue(late); got != late {
		t.Errorf("without a standby: got %v", got)
	}
	if got := (&held{standbys: "standby"}).overdue(context.Canceled); got != context.Canceled {
		t.Errorf("another error: got %v", got)
	}
}

package schema

import (
	"fmt"
	"math"

	"wamble/internal/intent"
	"wamble/internal/store"
)

// CheckBatch checks the profile and the cursor of a batch, not its intents.
func CheckBatch(b store.Batch) error {
	if wrong := intent.CheckText("profile", b.Profile, 1, intent.MaxProfile); wrong != "" {
		return fmt.Errorf("batch: %s", wrong)
	}
	if b.After >= b.Through || b.Through > math.MaxInt64 {
		return fmt.Errorf("batch: the cursor steps forward, up to 63 bits")
	}
	return nil
}

// CheckAll calls CheckBatch and checks every intent. Errors: that of CheckBatch, or the first
// *intent.Violation, with its index.
func CheckAll(b store.Batch) error {
	if err := CheckBatch(b); err != nil {
		return err
	}
	for i, in := range b.Intents {
		if err := intent.Check(in); err != nil {
			return fmt.Errorf("apply intent %d: %w", i, err)
		}
	}
	return nil
}

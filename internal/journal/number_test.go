package journal

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// TestManyProfilesAtOnce: at the first start all profiles get a number, each another one, at the first attempt.
func TestManyProfilesAtOnce(t *testing.T) {
	const profiles = 64
	r := openRunner(t)
	numbers, failures := make([]uint32, profiles), make([]error, profiles)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range profiles {
		done.Go(func() {
			start.Wait()
			numbers[i], failures[i] = WorkerOf(t.Context(), r, fmt.Sprintf("profile-%d", i))
		})
	}
	start.Done()
	done.Wait()
	for i, err := range failures {
		if err != nil {
			t.Errorf("profile %d: %v", i, err)
		}
	}
	slices.Sort(numbers)
	if numbers = slices.Compact(numbers); len(numbers) != profiles || numbers[0] != 1 ||
		numbers[profiles-1] != profiles {
		t.Errorf("the numbers are %v, want 1 to %d", numbers, profiles)
	}
	workers, err := Workers(t.Context(), r)
	if err != nil || len(workers) != profiles {
		t.Errorf("the journal knows %d profiles (%v), want %d", len(workers), err, profiles)
	}
}

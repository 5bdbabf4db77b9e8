package main

import (
	"os"
	"sync"
	"time"
)

// calmness is the least slack of some threads.
func calmness() string {
	least := timerSlack()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			time.Sleep(time.Millisecond) // on whatever thread it wakes up
			mu.Lock()
			defer mu.Unlock()
			least = min(least, timerSlack())
		})
	}
	all.Wait()
	return least.String() + os.Getenv(calmVar)
}

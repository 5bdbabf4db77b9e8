package main

import (
	"os"
	"runtime"
	"sync"
)

// calmness is the least slack of some threads.
func calmness() string {
	least := timerSlack()
	var mu sync.Mutex
	var here, all sync.WaitGroup
	here.Add(8)
	for range 8 {
		all.Go(func() {
			runtime.LockOSThread() // each on a thread of its own, while the others are on theirs
			defer runtime.UnlockOSThread()
			here.Done()
			here.Wait()
			mu.Lock()
			defer mu.Unlock()
			least = min(least, timerSlack())
		})
	}
	all.Wait()
	return least.String() + os.Getenv(calmVar)
}

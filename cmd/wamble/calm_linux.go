package main

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wamble/internal/handoff"
)

// slack is how late the kernel may let a timer of the server go off.
const slack = 300 * time.Microsecond

// calmVar says that the process has begun anew already.
const calmVar = "WAMBLE_CALM"

// calm lets the timers of this process be late by the slack. Under load Go's
// runtime looks every 20 µs whether a thread is in the kernel for long, and each
// look takes a processor from somebody at work; with the 50 µs that the kernel
// adds by itself that is 14,000 times a second. A thread has the slack of the
// thread that began it, so that all have it only in a process that begins with it:
// this one begins anew, once. Where that fails it goes on as it is, a little slower.
func calm() {
	began := os.Getenv(calmVar) != ""
	os.Unsetenv(calmVar)
	if began || os.Getenv(handoff.HotReload) != "" {
		return // an heir begins once
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := timerSlack()
	if before >= slack || unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) != nil {
		return
	}
	if exe, err := os.Executable(); err == nil {
		syscall.Exec(exe, os.Args, append(os.Environ(), calmVar+"=1"))
	}
	unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0)
}

// timerSlack is the slack of the calling thread.
func timerSlack() time.Duration {
	n, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err != nil {
		return slack // which is as good as having it: there is nothing to be done
	}
	return time.Duration(n)
}

package handoff

import (
	"errors"
	"os"
	"sync"
	"time"

	"wamble/internal/guard"
)

// Program has the functions that Serve calls.
type Program struct {
	// Check returns the verdict of this binary in check mode.
	Check func() (Verdict, error)
	// Open opens a server with an inheritance, or nil, and returns a function that runs it.
	Open func(h *Inheritance) (run func() error, err error)
}

// Serve opens a server and runs it, after a normal start or a handoff. If it cannot be opened
// after a handoff, the old binary is executed again. In check mode it only prints a verdict.
func Serve(image Program) error {
	inherited, err := Inherit()
	if err != nil {
		return err
	}
	if Checking() {
		v, err := image.Check()
		if err != nil {
			return err
		}
		return v.Print()
	}
	for {
		run, err := image.open(inherited)
		if err == nil {
			return run()
		}
		if inherited == nil {
			return err
		}
		if inherited, err = retreat(inherited, err); err != nil {
			return err
		}
	}
}

// garbageTime bounds how long garbage collection is stopped after a handoff.
const garbageTime = 3 * time.Second

// open opens a server. A panic becomes an error, so that the old image can take over again.
// Garbage collection is stopped until the handoff has finished.
func (i *Program) open(inherited *Inheritance) (run func() error, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = guard.New("the start", v)
		}
		if err != nil && inherited != nil {
			inherited.resumeGC()
		}
	}()
	if inherited != nil {
		tidy := sync.OnceFunc(pauseGC())
		inherited.restoreGC = tidy
		time.AfterFunc(garbageTime, func() { guard.Run("the garbage", tidy, nil) })
		inherited.Note.Add("exec", time.Since(time.Unix(0, inherited.Note.Left)))
	}
	return i.Open(inherited)
}

// retreat executes the old binary again after this one failed to take over. If that fails, or
// this is the old binary already, it removes the states, so that the server starts from the
// journal on the inherited sockets.
func retreat(inherited *Inheritance, why error) (*Inheritance, error) {
	if inherited.Note.Failure == "" {
		if err := inherited.Back(why, os.Args, os.Environ()); err != nil {
			why = errors.Join(why, err)
		}
		inherited.Note.Failure = why.Error()
	} else if len(inherited.States) == 0 {
		return nil, why
	}
	return inherited, inherited.RemoveStates()
}

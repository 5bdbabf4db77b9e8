package handoff

import (
	"errors"
	"os"
	"sync"
	"time"

	"wamble/internal/guard"
)

// Image is what one image of the process does.
type Image struct {
	// Check says whether this binary could take over.
	Check func() (Verdict, error)
	// Open opens a server, with what another image left to it, or nil, and returns
	// what runs it.
	Open func(h *Inheritance) (run func() error, err error)
}

// Serve is the life of a process: it opens a server and runs it until it is to
// stop, or becomes another image. It is the one that was started, or one that
// another handed over to.
func Serve(image Image) error {
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

// garbageTime is how long a successor leaves garbage where it is, whatever it waits
// for.
const garbageTime = 3 * time.Second

// open opens a server. A panic is an error too: there may be a way back.
func (i *Image) open(inherited *Inheritance) (run func() error, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = guard.New("the start", v)
		}
		if err != nil && inherited != nil {
			inherited.collectGarbage()
		}
	}()
	if inherited != nil {
		tidy := sync.OnceFunc(holdGarbage())
		inherited.tidy = tidy
		time.AfterFunc(garbageTime, func() { guard.Run("the garbage", tidy, nil) })
		inherited.Note.Add("exec", time.Since(time.Unix(0, inherited.Note.Left)))
	}
	return i.Open(inherited)
}

// retreat is the way back of an image that cannot take over: it becomes the one
// before it again. If it is that already, it starts anew on the sockets.
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

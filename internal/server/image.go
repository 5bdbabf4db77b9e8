package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"wamble/internal/handoff"
	"wamble/internal/loop"
)

// Serve is the life of a process: it opens a server and runs it until it is to
// stop, or becomes another image. It is the one that was started, or one that
// another handed over to. Load reads what the server is started with, and run
// calls Run on it.
func Serve(load func() (Options, error), run func(s *Server) error) error {
	inherited, err := handoff.Inherit()
	if err != nil {
		return err
	}
	if handoff.Checking() {
		return checkImage(load)
	}
	for {
		s, err := openImage(load, inherited)
		if err != nil {
			if inherited == nil {
				return err
			}
			if inherited, err = retreat(inherited, err); err != nil {
				return err
			}
			continue
		}
		return run(s)
	}
}

// openImage opens a server. A panic is an error too: there may be a way back.
func openImage(load func() (Options, error), inherited *handoff.Inheritance) (s *Server, err error) {
	tidy := func() {}
	defer func() {
		if v := recover(); v != nil {
			err = loop.NewPanic("the start", v)
		}
		if err != nil {
			tidy()
		}
	}()
	began := time.Now()
	if inherited != nil {
		tidy = holdGarbage()
		inherited.Note.Add("exec", began.Sub(time.Unix(0, inherited.Note.Left)))
	}
	o, err := load()
	if err != nil {
		return nil, err
	}
	o.Succession.Args, o.Succession.Inheritance = os.Args, inherited
	if o.Succession.Binary == "" {
		if o.Succession.Binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find the binary of this process: %w", err)
		}
	}
	if inherited != nil {
		inherited.Note.Lap("config", began)
	}
	if s, err = Open(o); err == nil {
		s.heir.tidy = tidy
	}
	return s, err
}

// retreat is what an image does that cannot take over: it becomes the one before
// it again. If it is that already, it starts anew on the sockets.
func retreat(inherited *handoff.Inheritance, why error) (*handoff.Inheritance, error) {
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

// checkImage says whether this binary could take over.
func checkImage(load func() (Options, error)) error {
	o, err := load()
	if err != nil {
		return err
	}
	v, err := Check(context.Background(), o)
	if err != nil {
		return err
	}
	return v.Print()
}

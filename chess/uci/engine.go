package uci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

var (
	// ErrTimeout is returned when the engine does not answer in time.
	ErrTimeout = errors.New("the engine does not answer")
	// ErrExited is returned when the engine's process has ended by itself.
	ErrExited = errors.New("the engine has ended")
	// ErrFlood is returned when the engine writes more than 64 KiB in a line or 16 MiB before
	// an answer.
	ErrFlood = errors.New("the engine writes without end")
	// ErrIllegal is returned when the engine plays a move that is not legal.
	ErrIllegal = errors.New("the engine plays an illegal move")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("the engine is closed")
)

// Config selects the engine to start.
type Config struct {
	// Command is the program, which is looked up in the PATH, and its arguments.
	Command []string
	// Patience is how long the engine may take for an answer, in a search in addition to
	// Limit.Time; 0 or less means 10 s.
	Patience time.Duration
}

// Engine is a process that understands UCI. Use it from one goroutine at a time.
type Engine struct {
	Name, Author string // as the engine gives them, at most 256 bytes each

	patience time.Duration
	slack    time.Duration // time beyond Limit.Time before a search is stopped; patience, except in tests
	cmd      *exec.Cmd
	in       *os.File
	out      lines
	words    tail
	options  map[string]Option // by name in lower case
	chess960 bool              // value of UCI_Chess960
	lines    int               // value of MultiPV
	err      error             // why the process has ended
}

// Start starts an engine and waits until it is ready. If ctx ends before, Start kills the
// engine and returns an error.
func Start(ctx context.Context, c Config) (*Engine, error) {
	if len(c.Command) == 0 {
		return nil, errors.New("there is no command to start an engine with")
	}
	e := &Engine{patience: c.Patience, options: map[string]Option{}, lines: 1}
	if e.patience <= 0 {
		e.patience = 10 * time.Second
	}
	e.slack = e.patience
	if err := e.start(c.Command); err != nil {
		return nil, fmt.Errorf("start the engine %s: %w", c.Command[0], err)
	}
	if err := e.handshake(ctx); err != nil {
		e.end(err)
		return nil, fmt.Errorf("start the engine %s: %w", c.Command[0], err)
	}
	return e, nil
}

// start starts the process with pipes, which allow deadlines.
func (e *Engine) start(command []string) error {
	e.cmd = exec.Command(command[0], command[1:]...)
	ownGroup(e.cmd)
	e.cmd.Stderr = &e.words
	e.cmd.WaitDelay = time.Second // a process that has left the group may keep standard error open
	theirIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		theirIn.Close()
		in.Close()
		return err
	}
	e.in, e.out = in, lines{from: out, buf: make([]byte, maxLine)}
	e.cmd.Stdin, e.cmd.Stdout = theirIn, theirOut
	err = e.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		in.Close()
		out.Close()
	}
	return err
}

func (e *Engine) handshake(ctx context.Context) error {
	err := e.ask(ctx, "uciok", "uci", func(line string) {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "id":
			what, value, _ := strings.Cut(rest, " ")
			value = value[:min(len(value), maxText)]
			switch what {
			case "name":
				e.Name = value
			case "author":
				e.Author = value
			}
		case "option":
			if o, ok := parseOption(rest); ok && len(e.options) < maxOptions {
				e.options[strings.ToLower(o.Name)] = o
			}
		}
	})
	if err != nil {
		return err
	}
	return e.Ready(ctx)
}

// Ready waits until the engine has executed all commands before. If ctx ends or Config.Patience
// passes before, the engine is killed.
func (e *Engine) Ready(ctx context.Context) error { return e.ask(ctx, "readyok", "isready", nil) }

// NewGame tells the engine that the next position is of another game.
func (e *Engine) NewGame(ctx context.Context) error {
	if err := e.send("ucinewgame"); err != nil {
		return err
	}
	return e.Ready(ctx)
}

// Close tells the engine to quit, waits up to 2 s for its end, and kills what is left of it. It
// always returns nil.
func (e *Engine) Close() error {
	if e.err != nil {
		return nil
	}
	if e.send("quit") == nil {
		e.in.Close()
		e.read(context.Background(), min(e.patience, 2*time.Second), func(string) bool { return false })
	}
	e.end(ErrClosed)
	return nil
}

// ask sends a question and reads up to its answer, which is one line. other, if not nil, gets
// the lines before. After an error the engine is killed.
func (e *Engine) ask(ctx context.Context, answer, question string, other func(line string)) error {
	if err := e.send(question); err != nil {
		return err
	}
	err := e.read(ctx, e.patience, func(line string) bool {
		if strings.TrimSpace(line) == answer {
			return true
		}
		if other != nil {
			other(line)
		}
		return false
	})
	return e.end(err)
}

// send writes one line. After an error the engine is killed.
func (e *Engine) send(line string) error {
	if e.err != nil {
		return e.err
	}
	if err := e.in.SetWriteDeadline(time.Now().Add(e.patience)); err != nil {
		return e.end(err)
	}
	_, err := io.WriteString(e.in, line+"\n")
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return e.end(ErrTimeout)
	case err != nil: // the pipe is closed: the engine does not read any more
		return e.end(ErrExited)
	}
	return nil
}

// read calls take for each line until it returns true. It returns the error of ctx, ErrTimeout,
// ErrFlood or ErrExited. It does not end the process.
func (e *Engine) read(ctx context.Context, within time.Duration, take func(line string) bool) error {
	if e.err != nil {
		return e.err
	}
	if err := e.out.from.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		e.out.from.SetReadDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-fired // otherwise its deadline would end the next read
		}
	}()
	for e.out.budget = maxAnswer; ; {
		line, err := e.out.next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, os.ErrDeadlineExceeded):
			return ErrTimeout
		case errors.Is(err, ErrFlood):
			return err
		case err != nil:
			return ErrExited
		}
		if take(line) {
			return nil
		}
	}
}

// end kills the process and its group because of the error why, which it keeps for later calls
// and returns; an ErrExited with the state of the process and the last line of standard error.
// If why is nil or the process has already been ended, end only returns the kept error.
func (e *Engine) end(why error) error {
	if why == nil || e.err != nil {
		return e.err
	}
	killGroup(e.cmd) // before Wait: afterwards the group's number may be reused
	e.cmd.Wait()
	e.in.Close()
	e.out.from.Close()
	if errors.Is(why, ErrExited) {
		why = fmt.Errorf("%w (%v)%s", why, e.cmd.ProcessState, e.words.words())
	}
	e.err = why
	return why
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"wamble/internal/play"
)

// longestLine bounds a line of input, in bytes.
const longestLine = 4096

// plain is the user interface that reads and prints lines.
type plain struct {
	conn *connection
	out  io.Writer
	busy int   // effects whose results the next line waits for
	quit bool  // the player leaves
	err  error // of writing to out
}

// playPlain plays in lines until the player leaves, the input ends, or ctx does.
func playPlain(ctx context.Context, s *connection, in io.Reader, out io.Writer) error {
	ctx, stop := untilStopped(ctx, sayTo(io.Discard), "")
	defer stop()
	p := &plain{conn: s, out: out}
	greeting(out, s)
	p.do(s.first())
	lines := make(chan string)
	s.run("the reader of lines", func() { readLines(ctx, in, lines) })
	for !p.quit && p.err == nil {
		next := lines
		if p.busy > 0 {
			next = nil // lines are handled one after the other
		}
		select {
		case line, ok := <-next:
			switch {
			case ok:
				p.do(s.game.Line(time.Now(), line))
			case s.game.Only:
				lines = nil // watching needs no input
			default:
				p.quit = true
			}
		case r := <-s.results:
			if awaited(r.of) {
				p.busy--
			}
			p.do(s.game.Take(time.Now(), r.msg))
		case <-ctx.Done():
			p.quit = true
		}
	}
	return p.err
}

// readLines sends the lines of in until there are no more.
func readLines(ctx context.Context, in io.Reader, lines chan<- string) {
	defer close(lines)
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, longestLine)
	for scan.Scan() {
		select {
		case lines <- scan.Text():
		case <-ctx.Done():
			return
		}
	}
}

// awaited reports whether the next line waits for the result of an effect.
func awaited(e play.Effect) bool {
	hello, later := e.(play.Hello)
	return e != nil && !(later && hello.After > 0)
}

// do carries out effects of the game.
func (p *plain) do(effects []play.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case play.Say:
			p.print(e.Text)
		case play.Show:
			p.print(e.Text)
		case play.News:
			p.print(e.Text)
		case play.Quit:
			p.quit = true
		default:
			started, err := p.conn.start(e)
			if started && awaited(e) {
				p.busy++
			}
			if err != nil {
				p.print(fmt.Sprintf("What belongs to you cannot be kept: %v.", err))
			}
		}
	}
}

func (p *plain) print(text string) {
	if _, err := fmt.Fprintln(p.out, text); err != nil && p.err == nil {
		p.err = fmt.Errorf("nobody reads: %w", err)
	}
}

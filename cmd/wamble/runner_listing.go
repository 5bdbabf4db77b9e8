package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// limitFlag adds --limit.
func limitFlag(c *cobra.Command, limit *int, what string) {
	*limit = 50
	c.Flags().Var((*positive)(limit), "limit", "list at most this many "+what)
}

// positive is a flag with a number from 1 up.
type positive int

func (p *positive) String() string { return fmt.Sprint(int(*p)) }
func (p *positive) Type() string   { return "N" }

func (p *positive) Set(s string) error {
	var n int
	if _, err := fmt.Sscanf(s, "%d", &n); err != nil || n < 1 || fmt.Sprint(n) != s {
		return errors.New("want a number from 1 up")
	}
	*p = positive(n)
	return nil
}

// listing collects up to limit rows, for a table or as JSON, and whether there are more.
type listing struct {
	cmd   *cobra.Command
	json  bool
	limit int
	views []any
	rows  []string
	more  bool
}

func newListing(cmd *cobra.Command, json bool, limit int, header string) *listing {
	return &listing{cmd: cmd, json: json, limit: limit, views: []any{}, rows: []string{header}}
}

// wanted returns how many more rows to read. One beyond the limit shows that there are more.
func (l *listing) wanted() int { return l.limit - len(l.views) + 1 }

func (l *listing) add(view any, cells string) {
	if len(l.views) == l.limit {
		l.more = true
		return
	}
	l.views = append(l.views, view)
	l.rows = append(l.rows, cells)
}

// print prints the rows. That there are more is printed to standard error, so that tools can
// read standard output.
func (l *listing) print(what string) error {
	out := l.cmd.OutOrStdout()
	var err error
	switch {
	case l.json:
		err = printJSON(out, l.views)
	case len(l.views) == 0:
		_, err = fmt.Fprintf(out, "no %s\n", what)
	default:
		err = printTable(out, l.rows)
	}
	if err == nil && l.more {
		_, err = fmt.Fprintf(l.cmd.ErrOrStderr(), "There are more %s; --limit shows more than %d.\n", what, l.limit)
	}
	return err
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"wamble"
	"wamble/internal/record"
	"wamble/internal/server"
	"wamble/internal/store"
)

// exportFormats has the encoders of games, by the name of the format.
var exportFormats = map[string]func([]byte, *wamble.Board) ([]byte, error){
	"pgn":    record.AppendPGN,
	"ndjson": record.AppendJSON,
}

func exportCommand() *cobra.Command {
	var flags storeFlags
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export pgn|ndjson",
		Short: "Write games with every move's player and time",
		Long: `Export writes every game, finished or running, that the databases hold: as PGN for
chess programs, or as one JSON object per line for other programs. Each move has
its player's handle and its time.

What a server has acknowledged in the last moments may still be on its way from
the journal to the database.`,
		Example: `  wamble export pgn --out games.pgn
  wamble export ndjson --since 24h
  wamble export pgn --board 42`,
		ValidArgs: []string{"pgn", "ndjson"},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || exportFormats[args[0]] == nil {
				return errors.New("say what to write: pgn or ndjson")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.format, o.one = exportFormats[args[0]], cmd.Flags().Changed("board")
			if o.one && o.sinceText != "" {
				return errors.New("say --board or --since, not both")
			}
			if err := o.parseSince(time.Now()); err != nil {
				return err
			}
			stores, err := flags.open(cmd, false)
			if err != nil {
				return err
			}
			defer server.CloseStores(stores)
			for _, s := range stores {
				if err := checkSchema(cmd.Context(), s); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
			return o.run(cmd, stores, flags.profile)
		},
	}
	flags.register(cmd)
	cmd.Flags().Uint64Var(&o.board, "board", 0, "only the board with this `number`")
	cmd.Flags().StringVar(&o.sinceText, "since", "",
		"only games with a move or result since this `time`: 24h, 2026-11-15 or 2026-11-15T12:00:00Z")
	cmd.Flags().StringVarP(&o.out, "out", "o", "",
		"write to this `file` instead of the standard output; it must not exist")
	return cmd
}

// checkSchema returns an error if this binary cannot read a database, which is clearer than
// the database's own error.
func checkSchema(ctx context.Context, s *server.SharedStore) error {
	st, err := s.Status(ctx)
	switch {
	case err != nil:
		return err
	case st.Refused() != nil:
		return st.Refused()
	case st.Adopt || len(st.Pending) > 0:
		return fmt.Errorf("its schema is %d of %d: run 'wamble migrate' first", st.Version, st.Latest)
	}
	return nil
}

type exportOptions struct {
	format    func([]byte, *wamble.Board) ([]byte, error)
	one       bool // only board
	board     uint64
	sinceText string
	since     time.Time
	out       string
}

func (o *exportOptions) parseSince(now time.Time) error {
	if o.sinceText == "" {
		return nil
	}
	if d, err := time.ParseDuration(o.sinceText); err == nil && d >= 0 {
		o.since = now.Add(-d)
		return nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, o.sinceText); err == nil {
			o.since = t
			return nil
		}
	}
	return fmt.Errorf("--since %q is neither a duration (24h) nor a day (2026-11-15) nor a time (2026-11-15T12:00:00Z)",
		o.sinceText)
}

// run writes to standard output, or to a file that gets its name only when it is complete.
func (o *exportOptions) run(cmd *cobra.Command, stores []*server.SharedStore, profile string) error {
	if o.out == "" {
		_, err := o.write(cmd, cmd.OutOrStdout(), stores, profile)
		return err
	}
	if _, err := os.Lstat(o.out); err == nil {
		return fmt.Errorf("%s exists already; choose another name or remove it", o.out)
	}
	var f *os.File
	err := asCaller(func() (err error) {
		f, err = os.CreateTemp(filepath.Dir(o.out), "."+filepath.Base(o.out)+".*")
		return err
	})
	if err != nil {
		return err
	}
	defer asCaller(func() error { return os.Remove(f.Name()) })
	n, err := o.write(cmd, f, stores, profile)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := asCaller(func() error { return os.Rename(f.Name(), o.out) }); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s written to %s\n", plural(n, "game"), o.out)
	return nil
}

func (o *exportOptions) write(cmd *cobra.Command, to io.Writer, stores []*server.SharedStore, profile string) (int,
	error) {
	w := bufio.NewWriterSize(to, 1<<16)
	n, told := 0, time.Now()
	var buf []byte
	add := func(b wamble.Board) error {
		var err error
		if buf, err = o.format(buf[:0], &b); err != nil {
			return err
		}
		if n++; time.Since(told) > 5*time.Second {
			told = time.Now()
			fmt.Fprintf(cmd.ErrOrStderr(), "%d games so far, at board %d\n", n, b.ID)
		}
		_, err = w.Write(buf)
		return err
	}
	for _, s := range stores {
		if err := o.each(cmd, s, profile, add); err != nil {
			return n, fmt.Errorf("%s: %w", s.Name, errors.Join(err, w.Flush()))
		}
	}
	if o.one && n == 0 {
		if profile != "" {
			return n, fmt.Errorf("profile %s has no board %d", profile, o.board)
		}
		return n, fmt.Errorf("there is no board %d", o.board)
	}
	return n, w.Flush()
}

func (o *exportOptions) each(cmd *cobra.Command, s *server.SharedStore, profile string,
	add func(wamble.Board) error) error {
	if o.one {
		b, err := s.Board(cmd.Context(), wamble.BoardID(o.board))
		if errors.Is(err, store.ErrNotFound) || err == nil && profile != "" && b.Profile != profile {
			return nil
		}
		if err != nil {
			return err
		}
		return add(b)
	}
	for b, err := range s.Games(cmd.Context(), wamble.GameFilter{Profile: profile, Since: o.since}) {
		if err != nil {
			return err
		}
		if err := add(b); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
	"wamble/internal/journal"
	"wamble/internal/server"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

func runnerCommand() *cobra.Command {
	var f runnerFlags
	c := &cobra.Command{
		Use:   "runner",
		Short: "Look into the journal of a server, and repair it",
		Long: `Look into the journal of a server, running or stopped, and repair it.

The journal is a directory of the durable runner: messages that were
acknowledged and are not yet in the database, timers, and dead letters, which
failed too often. A server that runs is asked through its control socket, beside
the journal; otherwise the directory is opened, by one process at a time. Commands
that only read change nothing in it. 'restore' and 'salvage' need a server that is
stopped. Where several machines share the journal, in parts, each is asked for those
that it has: name one with --part.

Without --dir it is the journal of the server that other commands are about: see
'wamble help'.`,
		Example: `  wamble runner stat
  wamble runner dead-letters list --dir /var/lib/wamble/journal
  wamble runner frame decode 4c4d5347…`,
	}
	c.PersistentPreRun = func(cmd *cobra.Command, _ []string) { f.cmd = cmd }
	c.PersistentFlags().StringVar(&f.dir, "dir", "",
		"directory of the runner (default: the journal of the server which 'wamble help' tells)")
	c.PersistentFlags().BoolVar(&f.json, "json", false, "print JSON, for tools")
	c.PersistentFlags().IntVar(&f.part, "part", -1,
		"part of a journal that several machines share, of a server that runs on this one")
	f.schema = versionFlag(journalSchema)
	c.PersistentFlags().Var(&f.schema, "schema", "schema version to serve, for directories of programs that set one")
	return parent(c,
		runnerFrameCommand(),
		runnerStatCommand(&f),
		runnerInboxCommand(&f),
		runnerTimersCommand(&f),
		runnerListCommand(&f),
		runnerShowCommand(&f),
		runnerRetryCommand(&f),
		runnerDeleteCommand(&f),
		runnerPauseCommand(&f),
		runnerResumeCommand(&f),
		runnerDeadLettersCommand(&f),
		runnerCheckpointCommand(&f),
		runnerRestoreCommand(&f),
		runnerSalvageCommand(&f),
	)
}

// journalSchema is the schema version of the server's journal.
var journalSchema = server.JournalSchema

// runnerFlags has the flags of all runner commands.
type runnerFlags struct {
	dir    string
	json   bool
	part   int // partition of a shared journal; -1 if not given
	schema versionFlag
	cmd    *cobra.Command // the one that is given
}

// versionFlag is a flag of the form MAJOR.MINOR.
type versionFlag runner.Version

func (v *versionFlag) String() string { return runner.Version(*v).String() }
func (v *versionFlag) Type() string   { return "MAJOR.MINOR" }

func (v *versionFlag) Set(s string) error {
	major, minor, ok := strings.Cut(s, ".")
	a, err := strconv.ParseUint(major, 10, 16)
	b, err2 := strconv.ParseUint(minor, 10, 16)
	if !ok || err != nil || err2 != nil {
		return errors.New("want two numbers and a dot, as in 0.0")
	}
	*v = versionFlag{Major: uint16(a), Minor: uint16(b)}
	return nil
}

// path returns the directory of the runner.
func (f *runnerFlags) path() (string, error) {
	if f.dir != "" {
		return f.dir, nil
	}
	dir, err := new(storeFlags).dataDir(f.cmd)
	if err != nil {
		return "", fmt.Errorf("%w\nName the runner's directory with --dir", err)
	}
	f.dir = server.JournalDir(dir)
	return f.dir, nil
}

// read runs do on the runner, opened for reading only.
func (f *runnerFlags) read(do func(r *runner.Runner) error) error {
	dir, err := f.path()
	if err != nil {
		return err
	}
	err = isDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		// With a control socket and without a journal, the server's journal is in PostgreSQL.
		if _, served := os.Stat(admin.ControlPath(filepath.Dir(filepath.Clean(dir)))); served == nil {
			return inUseError{dir: dir}
		}
	}
	if err != nil {
		return fmt.Errorf("%w\nName the runner's directory with --dir", err)
	}
	r, err := f.openRunner(runner.OpenReadOnly, dir)
	if err != nil {
		return err
	}
	if f.part >= 0 {
		return errors.Join(errors.New("a journal on disk is in one part: leave out --part"), r.Close())
	}
	return errors.Join(do(r), r.Close())
}

// change runs do on the runner. It first opens the runner read-only, because a directory that
// is not a runner's must not be changed.
func (f *runnerFlags) change(do func(r *runner.Runner) error) error {
	if err := f.read(func(*runner.Runner) error { return nil }); err != nil {
		return err
	}
	dir, err := f.path()
	if err != nil {
		return err
	}
	r, err := f.openRunner(runner.Open, dir)
	if err != nil {
		return err
	}
	return errors.Join(do(r), r.Close())
}

func isDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return err
}

// openRunner opens a runner and explains errors. Without --schema it also opens an older
// journal, and the directory of a program that sets no schema.
func (f *runnerFlags) openRunner(open func(runner.Storage, runner.Options) (*runner.Runner, error),
	dir string) (*runner.Runner, error) {
	if err := workAsOwner(dir); err != nil {
		return nil, err
	}
	at := func(schema runner.Version) (*runner.Runner, error) {
		return open(pebblestore.At(dir, pebblestore.Options{}), runner.Options{Schema: schema, MinFree: -1})
	}
	r, err := at(runner.Version(f.schema))
	if errors.Is(err, runner.ErrSchema) && f.schema == versionFlag(journalSchema) {
		for _, schema := range []runner.Version{{}, journal.Oldest} {
			if other, older := at(schema); older == nil {
				r, err = other, nil
				break
			}
		}
	}
	switch {
	case errors.Is(err, runner.ErrLocked):
		return nil, inUseError{dir: dir}
	case errors.Is(err, runner.ErrDamaged):
		return nil, fmt.Errorf("%w\nNothing was changed. 'wamble runner salvage --dir %s NEW' takes what was committed before the damage", err, dir)
	case errors.Is(err, runner.ErrNoSchema):
		return nil, fmt.Errorf("%s is not a runner's directory: %w", dir, err)
	case errors.Is(err, runner.ErrSchema):
		return nil, fmt.Errorf("%s: %w\nUse the wamble that wrote it, or one that is newer", dir, err)
	}
	return r, err
}

// inUseError is returned when a running process has locked the directory.
type inUseError struct {
	dir   string
	asked bool // the process does not answer at a control socket
}

func (e inUseError) Error() string {
	text := fmt.Sprintf("%s is in use by a running process: stop the server first", e.dir)
	if e.asked {
		text += ".\nA server that runs would be asked through its control socket, but there is none beside the journal.\n" +
			"Another program shows its queues by itself, if it serves the page of runner/admin"
	}
	return text
}

// printJSON prints v as indented JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printTable prints rows, whose cells are separated by tabs, in aligned columns.
func printTable(w io.Writer, rows []string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, row); err != nil {
			return err
		}
	}
	return t.Flush()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/admin"
	"wamble/internal/backup"
	"wamble/internal/server"
	"wamble/internal/store"
	"wamble/runner"
)

func backupCommand() *cobra.Command {
	var flags storeFlags
	var dump string
	cmd := &cobra.Command{
		Use:   "backup DIR|FILE.tar",
		Short: "Copy games and journal, while the server runs or while it is stopped",
		Long: `Backup copies the games in SQLite and the journal of a data directory to a
directory that is empty or does not exist yet, or to one file whose name ends with
.tar. Players play on meanwhile. Everything that was acknowledged before the journal
was copied, which is the last thing, is in the backup: the command checks that.

A backup that was interrupted goes on when the same command is given again. Of a data
directory one is made at a time: another one says so and ends. A .tar needs room for
two copies.

Games in PostgreSQL are not copied, but must be in a dump that is made between the
beginning and the end of the backup: give the command that makes it with --dump, and
it is run at the right time. Without --dump restore PostgreSQL to a moment after the
time at which this command was given (PITR); the server keeps what came later for as
long as journal-keep says.

The option backup-dir lets the server make backups by itself.`,
		Example: `  wamble backup /var/backups/wamble-today
  wamble backup /var/backups/wamble-today.tar
  wamble backup /var/backups/wamble-today --dump 'umask 077; sudo -u postgres pg_dump -Fc --exclude-table-data=profile_owners wamble >/var/backups/games.dump'`,
		Args: oneArg("a directory or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			began := time.Now()
			from, done, err := flags.source(cmd)
			if err != nil {
				return err
			}
			defer done()
			if dump != "" {
				from.Dump = func(ctx context.Context) error {
					return asCaller(func() error { return shell(ctx, cmd, dump) })
				}
			}
			giveBack, err := lend(backup.DirOf(args[0]))
			if err != nil {
				return err
			}
			from.AsCaller = asCaller
			say := progressLine(cmd.ErrOrStderr())
			m, err := backup.To(cmd.Context(), from, args[0], say)
			if err = errors.Join(err, giveBack()); err != nil {
				return fmt.Errorf("the backup is not whole: %w", err)
			}
			messages := uint64(0)
			for _, p := range m.Profiles {
				messages += p.Last - min(p.Last, p.Cursor)
			}
			fmt.Fprintf(cmd.OutOrStdout(),
				"%s has everything that was acknowledged until %s: %s, and a journal with %s that they do not have; it took %v\n",
				args[0], m.Ended.Format(time.RFC3339), plural(len(m.Stores), "file")+" of games",
				plural(int(messages), "message"), time.Since(began).Round(time.Millisecond))
			for _, p := range m.Profiles {
				if p.Store == "" && dump == "" {
					fmt.Fprintf(cmd.OutOrStdout(),
						"NOT IN IT are the games of the profile %s, in PostgreSQL: a restore needs that database as it was at %s or later\n",
						p.Name, m.Began.Format(time.RFC3339))
				}
			}
			return nil
		},
	}
	flags.registerData(cmd)
	cmd.Flags().StringVar(&dump, "dump", "",
		"a shell `command` that copies what is in PostgreSQL, run at the right time")
	return cmd
}

// shell runs a shell command that the host has given.
func shell(ctx context.Context, cmd *cobra.Command, text string) error {
	c := exec.CommandContext(ctx, "/bin/sh", "-c", text)
	c.Stdout, c.Stderr = cmd.ErrOrStderr(), cmd.ErrOrStderr()
	return c.Run()
}

// source returns the source of a backup: the running server, or a stopped one's data
// directory.
func (f *storeFlags) source(cmd *cobra.Command) (_ backup.Source, done func(), err error) {
	c, dir, err := f.configured(cmd)
	if err != nil {
		return backup.Source{}, nil, err
	}
	if c.Server.Journal == "postgres" {
		return backup.Source{}, nil, server.ErrSharedJournal
	}
	if err := workAsOwner(dir); err != nil {
		return backup.Source{}, nil, err
	}
	stores, err := server.OpenStores(c.Running(), dir)
	if err != nil {
		return backup.Source{}, nil, err
	}
	done = func() { server.CloseStores(stores) }
	from := backup.Stopped(dir, server.BackupStores(stores))
	var stats runner.Stats
	err = admin.Ask(cmd.Context(), dir, "runner-stats", nil, &stats)
	switch {
	case errors.Is(err, admin.ErrNoServer):
		return from, done, nil
	case err != nil:
		done()
		return from, nil, err
	}
	from.Journal = func(ctx context.Context) (store.JournalID, error) {
		var stats runner.Stats
		err := admin.Ask(ctx, dir, "runner-stats", nil, &stats)
		return store.JournalID(stats.Journal), err
	}
	from.Hold = func(ctx context.Context, d time.Duration) error {
		return admin.Ask(ctx, dir, "backup-hold", admin.PinFor{Seconds: int(d.Seconds())}, &struct{}{})
	}
	from.Checkpoint = func(ctx context.Context, to string) error {
		to, err := filepath.Abs(to)
		if err != nil {
			return err
		}
		return admin.Ask(ctx, dir, "runner-checkpoint", admin.CheckpointTo{Dir: to}, &stats)
	}
	return from, done, nil
}

// progressLine returns a function that prints progress, at most once a second for each part.
func progressLine(w io.Writer) func(backup.Progress) {
	what, told := "", time.Time{}
	return func(p backup.Progress) {
		if p.What == what && time.Since(told) < time.Second {
			return
		}
		what, told = p.What, time.Now()
		if p.All == 0 {
			fmt.Fprintf(w, "%s …\n", p.What)
			return
		}
		fmt.Fprintf(w, "%s: %d %%\n", p.What, 100*p.Done/p.All)
	}
}

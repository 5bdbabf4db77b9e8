package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"wamble/internal/backup"
	"wamble/internal/server"
)

func restoreCommand() *cobra.Command {
	var flags storeFlags
	var overwrite, verify bool
	cmd := &cobra.Command{
		Use:   "restore DIR|FILE.tar",
		Short: "Make a data directory of a backup",
		Long: `Restore brings games and journal of a backup back to a data directory on which no
server runs, and what only the journal has to the games. First it checks that every
file of the backup has the SHA-256 with which it was made, and that none is missing or
extra; a backup that has changed is refused, and nothing is touched. With --verify the
new directory is checked at the end as 'wamble fsck' does. What was checked is printed.

A directory that has games or a journal is replaced only with --overwrite. If it is
interrupted, give the command again; no server starts on the directory before.

Games in PostgreSQL: restore the database first, to a moment after the beginning of
the backup; one of an earlier moment, which lacks moves, is refused.

Run it as the user who runs the server, or as root: then it reads the backup as root,
and writes as the owner of the data directory.`,
		Example: `  wamble restore /var/backups/wamble-today --data /var/lib/wamble --verify
  wamble restore /var/backups/wamble-today.tar --overwrite`,
		Args: oneArg("a directory or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			began := time.Now()
			c, dir, err := flags.configured(cmd)
			if err != nil {
				return err
			}
			if c.Server.Journal == "postgres" {
				return server.ErrSharedJournal
			}
			if err := workAsOwner(dir); err != nil {
				return err
			}
			if err := server.MakeDataDir(dir); err != nil {
				return err
			}
			open := func() ([]backup.Store, error) {
				stores, err := server.OpenStores(c.Running(), dir)
				return server.BackupStores(stores), err
			}
			to := backup.Target{Dir: dir, Overwrite: overwrite, AsCaller: asCaller, Stores: open}
			m, err := backup.From(cmd.Context(), args[0], to, progressLine(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "ok   %s: %s\n", args[0], m.Checked())
			fmt.Fprintf(cmd.OutOrStdout(), "%s is restored in %v\n", dir, time.Since(began).Round(time.Millisecond))
			if !verify {
				return nil
			}
			if err := workAsCaller(); err != nil {
				return err
			}
			return flags.check(cmd)
		},
	}
	flags.registerData(cmd)
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace games and journal that are there")
	cmd.Flags().BoolVar(&verify, "verify", false, "check the new directory as 'wamble fsck' does, and replay all games")
	return cmd
}

func fsckCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "Check a data directory on which no server runs",
		Long: `Fsck looks at the files of a data directory on which no server runs, and says what
to do: whether SQLite finds its files whole and that rows point to rows, whether all
games can be replayed to the positions of their boards, whether the journal can be
read, and whether it has everything that the games do not have yet; and whether what
a crash has left for the next start is whole.

The exit code is 1 if something is to be done.`,
		Example: `  wamble fsck --data /var/lib/wamble`,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.check(cmd) },
	}
	flags.registerData(cmd)
	return cmd
}

// check checks a data directory and prints the findings.
func (f *storeFlags) check(cmd *cobra.Command) error {
	c, dir, err := f.configured(cmd)
	if err != nil {
		return err
	}
	if err := isDir(dir); err != nil {
		return fmt.Errorf("%w\nName the data directory with --data", err)
	}
	if err := workAsOwner(dir); err != nil {
		return err
	}
	stores, err := server.OpenStores(c.Running(), dir)
	if err != nil {
		return err
	}
	defer server.CloseStores(stores)
	bad := 0
	for _, found := range server.CheckData(cmd.Context(), c, dir, stores) {
		if !found.Bad() {
			fmt.Fprintf(cmd.OutOrStdout(), "ok   %s: %s\n", found.Subject, found.Text)
			continue
		}
		bad++
		fmt.Fprintf(cmd.OutOrStdout(), "BAD  %s: %s\n     %s\n", found.Subject, found.Text, found.Advice)
	}
	if bad > 0 {
		return exitError(1)
	}
	return nil
}

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wamble/internal/admin"
	"wamble/internal/backup"
	"wamble/internal/config"
	"wamble/internal/loop"
	"wamble/internal/store"
)

// pinMessages keeps messages of the journal that reach the stores until a time, for a backup.
func (s *Server) pinMessages(until time.Time) {
	for _, rt := range s.runtimes() {
		rt.PinMessages(until)
	}
}

// Backup copies games and journal to a directory while the server runs. Error:
// ErrSharedJournal if the journal is in PostgreSQL.
func (s *Server) Backup(ctx context.Context, dir string) (backup.Manifest, error) {
	if s.sharedJournal.log != nil {
		return backup.Manifest{}, ErrSharedJournal
	}
	from := backup.Source{
		Dir: s.dir, Stores: BackupStores(s.stores.all()),
		Journal: func(context.Context) (store.JournalID, error) {
			return store.JournalID(s.runner.JournalID()),
				nil
		},
		Hold:       func(_ context.Context, d time.Duration) error { s.pinMessages(time.Now().Add(d)); return nil },
		Checkpoint: func(_ context.Context, to string) error { return s.runner.Checkpoint(to) },
	}
	return backup.Run(ctx, from, dir, nil)
}

// ErrSharedJournal is returned when the journal is in PostgreSQL, whose own tools make
// its backups.
var ErrSharedJournal = errors.New("the journal is in PostgreSQL: back that up. If the games are in the same database, a single pg_dump has both of one moment; otherwise dump the games first, then the journal, and copy DATA/kept, see 'Back up and restore' in the manual")

// CheckData checks a data directory on which no server runs, and returns what is wrong with
// advice.
func CheckData(ctx context.Context, c *config.Config, dir string, stores []*SharedStore) []backup.Finding {
	remote := ""
	if usesSharedJournal(c) {
		remote = "in PostgreSQL"
	}
	list := backup.Check(ctx, dir, remote, BackupStores(stores), loop.CheckRestartFile)
	if _, err := admin.ReadTokens(dir); err != nil {
		list = append(list, backup.Finding{Subject: "admin tokens", Text: err.Error(),
			Advice: "Delete the file, and give tokens again with 'wamble token-create'"})
	}
	return list
}

// BackupStores converts stores for package backup.
func BackupStores(stores []*SharedStore) []backup.Store {
	var list []backup.Store
	for _, s := range stores {
		list = append(list, backup.Store{Store: s, Name: s.Name, File: s.File, Profiles: slices.Clone(s.journals)})
	}
	return list
}

// The names of scheduled backups: a prefix and the time.
const (
	backupPrefix = "wamble-"
	backupLayout = "20060102T150405Z"
)

// backups makes scheduled backups until ctx ends.
func (s *Server) backups(ctx context.Context) {
	if s.WaitReady(ctx) != nil {
		return
	}
	for ctx.Err() == nil {
		if o := s.config().Server.Backups; s.backupDue(o, time.Now()) {
			s.scheduledBackup(ctx, o.Dir, o.Keep)
		}
		sleep(ctx, backupPollEvery)
	}
}

// backupDue reports whether it is time for a scheduled backup. None is made of a journal in
// PostgreSQL; reading the configuration warns of that.
func (s *Server) backupDue(o config.Backups, now time.Time) bool {
	return o.Dir != "" && s.sharedJournal.log == nil && !now.Before(newestBackup(o.Dir).Add(o.Every))
}

// backupPollEvery is the interval of backupDue.
const backupPollEvery = 20 * time.Second

// scheduledBackup makes one backup, or goes on with an interrupted one, and deletes all
// but the newest keep.
func (s *Server) scheduledBackup(ctx context.Context, dir string, keep int) {
	began := time.Now()
	partial := filepath.Join(dir, "unfinished")
	m, err := backup.ReadManifest(partial)
	if err != nil || m.Ended.IsZero() {
		m, err = s.Backup(ctx, partial)
	}
	to := filepath.Join(dir, backupPrefix+m.Ended.Format(backupLayout))
	if err == nil {
		err = os.Rename(partial, to)
	}
	if errors.Is(err, backup.ErrUnderWay) {
		return // another backup runs; this one is tried again
	}
	if err != nil {
		if ctx.Err() == nil {
			s.log.Error("the backup has failed; it is tried again", "dir", dir, "err", err)
		}
		sleep(ctx, time.Minute)
		return
	}
	s.log.Info("a backup was made", "dir", to, "took", time.Since(began).Round(time.Millisecond))
	if without := s.inPostgres(); len(without) > 0 {
		s.log.Warn("the backup is without the games in PostgreSQL: back that up, too", "dir", to, "profiles",
			strings.Join(without, ", "))
	}
	names := backupNames(dir)
	for _, name := range names[:max(0, len(names)-keep)] {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			s.log.Warn("an old backup cannot be deleted", "err", err)
		}
	}
}

// inPostgres returns the profiles whose games are in PostgreSQL, and so in no backup.
func (s *Server) inPostgres() (names []string) {
	for _, p := range s.profiles() {
		if p.store.File == "" {
			names = append(names, p.name)
		}
	}
	return names
}

// backupStatus returns what the status says of scheduled backups; nil if none are made.
func (s *Server) backupStatus() *admin.BackupStatus {
	c := s.config()
	if c == nil || c.Server.Backups.Dir == "" || s.sharedJournal.log != nil {
		return nil
	}
	dir := c.Server.Backups.Dir
	return &admin.BackupStatus{Dir: dir, Last: newestBackup(dir), Without: s.inPostgres()}
}

// backupNames returns the names of scheduled backups in a directory, oldest first.
func backupNames(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // the directory may not exist yet
	for _, e := range entries {
		if _, err := backupTime(e.Name()); err == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

func backupTime(name string) (time.Time, error) {
	stamp, ok := strings.CutPrefix(name, backupPrefix)
	if !ok {
		return time.Time{}, fmt.Errorf("%s is no backup", name)
	}
	return time.Parse(backupLayout, stamp)
}

// newestBackup returns the time of the last scheduled backup in a directory; zero if there is none.
func newestBackup(dir string) time.Time {
	names := backupNames(dir)
	if len(names) == 0 {
		return time.Time{}
	}
	at, _ := backupTime(names[len(names)-1]) // it was parsed before
	return at
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"wamble"
	"wamble/chess"
	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/internal/store/sqlite"
	"wamble/runner"
)

// Finding is the result of Check for one part of a data directory.
type Finding struct {
	Subject string
	Text    string
	Advice  string // what to do; "" if nothing is wrong
}

// Bad reports whether something is wrong.
func (f Finding) Bad() bool { return f.Advice != "" }

// Memory checks the restart file of a profile. A missing file is no error.
type Memory func(path string, journal store.JournalID, profile string) error

// Check checks a data directory on which no server runs: stores, journal, the messages between
// them, restart files, and the owner of files. It changes nothing. Stores are those of the
// configuration. JournalAt says in words where the journal is if it is not in the directory.
func Check(ctx context.Context, dir, journalAt string, stores []Store, memory Memory) []Finding {
	if Unfinished(dir) {
		return []Finding{{dir, "a restore into it was not finished", "Run 'wamble restore' again"}}
	}
	// The journal.
	var r *runner.Runner
	var err error
	if journalAt == "" {
		r, err = openJournal(filepath.Join(dir, journalName))
	}
	if errors.Is(err, runner.ErrLocked) {
		return []Finding{{dir, "a server runs on it",
			"Stop the server first, or use 'wamble doctor' and 'wamble status'"}}
	}
	list := []Finding{checkOwner(dir)}
	journalFinding := Finding{Subject: "journal", Text: "it can be opened, and has no dead letters"}
	switch {
	case journalAt != "":
		journalFinding.Text = "it is " + journalAt + ", and is not looked at here"
	case errors.Is(err, fs.ErrNotExist):
		journalFinding = Finding{"journal", "there is none",
			"If this is no new directory, restore a backup: what the games do not have is lost with the journal"}
	case errors.Is(err, runner.ErrDamaged):
		journalFinding = Finding{"journal", err.Error(),
			fmt.Sprintf("Run 'wamble runner salvage --dir %s NEW' to take what was committed before the damage, or restore a backup",
				filepath.Join(dir, journalName))}
	case errors.Is(err, runner.ErrSchema):
		journalFinding = Finding{"journal", err.Error(), "Use the wamble that wrote it, or one that is newer"}
	case err != nil:
		journalFinding = Finding{"journal", err.Error(), "Make the directory readable, or restore a backup"}
	default:
		defer r.Close()
		if n := r.Stats().DeadLetters; n > 0 {
			journalFinding = Finding{"journal", fmt.Sprintf("%d dead letters: the database has refused them", n),
				"Look at 'wamble runner dead-letters list', and replay or drop them"}
		}
	}
	list = append(list, journalFinding)
	// The stores, and the messages between journal and stores.
	for i := range stores {
		s := &stores[i]
		found := s.check(ctx)
		list = append(list, found)
		if found.Bad() {
			continue
		}
		list = append(list, s.checkGames(ctx))
		for _, profile := range s.Profiles {
			if r != nil {
				list = append(list, s.checkTail(ctx, r, filepath.Join(dir, retainedName), profile))
				list = append(list, checkMemory(dir, r, profile, memory)...)
			}
		}
	}
	return append(list, checkLeft(dir)...)
}

// check checks the SQLite file of a store, or queries PostgreSQL.
func (s *Store) check(ctx context.Context) Finding {
	if s.File == "" {
		if _, err := s.Cursor(ctx, store.JournalID{}, ""); err != nil {
			return Finding{s.Name, err.Error(),
				"Start PostgreSQL, or correct db-host and its kin; 'wamble doctor' says more"}
		}
		return Finding{Subject: s.Name, Text: "it answers; its files are PostgreSQL's to check (pg_amcheck)"}
	}
	problems, err := sqlite.Check(ctx, s.File)
	var wrong *store.Unusable
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Finding{s.Name, "there is no such file", "If this is no new directory, restore a backup"}
	case errors.As(err, &wrong):
		return Finding{s.Name, wrong.Err.Error(), wrong.Advice}
	case err != nil:
		return Finding{s.Name, err.Error(), "Restore a backup"}
	case len(problems) > 0:
		return Finding{s.Name, "damaged: " + strings.Join(problems, "; "),
			"Keep a copy, and restore a backup; or save what can be read with 'sqlite3 games.db .recover'. " +
				"What is not in the file yet is in the journal"}
	}
	return Finding{Subject: s.Name, Text: "integrity_check and foreign_key_check of SQLite find nothing"}
}

// mostNamed is how many boards or files with errors are named.
const mostNamed = 5

// checkGames replays every game of a store.
func (s *Store) checkGames(ctx context.Context) Finding {
	var bad []string
	boards, moves := 0, 0
	for b, err := range s.Games(ctx, wamble.GameFilter{}) {
		if err != nil {
			return Finding{s.Name, "its games: " + err.Error(),
				"Run 'wamble migrate' if the schema is old; else restore a backup"}
		}
		boards, moves = boards+1, moves+len(b.Moves)
		if why := replay(&b); why != "" && len(bad) < mostNamed {
			bad = append(bad, fmt.Sprintf("board %d: %s", b.ID, why))
		}
	}
	if len(bad) > 0 {
		return Finding{s.Name, strings.Join(bad, "; "),
			"End these games with 'wamble archive BOARD' when the server runs, or restore a backup"}
	}
	return Finding{Subject: s.Name,
		Text: fmt.Sprintf("%d games with %d moves lead to the positions of their boards", boards, moves)}
}

// replay returns what is wrong with a game; "" if nothing is. A board's version is at least
// its number of moves.
func replay(b *wamble.Board) string {
	p := chess.Start()
	if b.Variant >= 0 {
		var err error
		if p, err = chess.Chess960(int(b.Variant)); err != nil {
			return err.Error()
		}
	}
	for i, m := range b.Moves {
		if m.Ply != i+1 {
			return fmt.Sprintf("after ply %d comes %d", i, m.Ply)
		}
		move, err := p.ParseUCI(m.UCI)
		if err != nil {
			return fmt.Sprintf("ply %d, %s: %v", m.Ply, m.UCI, err)
		}
		p = p.Play(move)
	}
	switch want := p.FEN(); {
	case len(b.Moves) > 0 && b.FEN != want:
		return fmt.Sprintf("its position is %s, but its moves lead to %s", b.FEN, want)
	case b.Version < uint64(len(b.Moves)):
		return fmt.Sprintf("its version is %d after %d moves", b.Version, len(b.Moves))
	}
	return ""
}

// checkTail checks that all messages that a store lacks are in the journal or among the kept
// messages, and can be decoded.
func (s *Store) checkTail(ctx context.Context, r *runner.Runner, kept, profile string) Finding {
	subject, id := "profile "+profile, store.JournalID(r.JournalID())
	worker, ok := journal.NumberOf(r, profile)
	if !ok {
		return Finding{Subject: subject, Text: "the journal has nothing of it"}
	}
	cursor, err := s.Cursor(ctx, id, profile)
	if err != nil {
		return Finding{subject, err.Error(), "Run 'wamble migrate' if the schema is old; else restore a backup"}
	}
	settled, last := journal.Ends(r, worker)
	if cursor > last {
		return Finding{subject, fmt.Sprintf("the games have messages up to %d, and the journal ends at %d: it is an old copy, or its end was cut off", cursor, last),
			"Run 'wamble runner restore' with a checkpoint of the journal, which gives it a new id"}
	}
	// The first message that the store needs is after its cursor, and after the messages that
	// were not meant for it.
	from, known := cursor, false
	if w, found := journal.KnownDatabase(r, profile); found {
		// The store has everything that left a journal before it was restored.
		known = true
		if w.Journal != id {
			from = max(from, settled)
		} else {
			from = max(from, w.Base)
		}
	}
	if !known {
		from = max(from, settled)
	}
	// Read all messages from there on.
	n, bad := 0, ""
	err = journal.Tail(r, kept, worker, from, func(seq uint64, frame []byte) error {
		n++
		if _, err := journal.Decode(frame); err != nil && bad == "" {
			bad = fmt.Sprintf("message %d: %v", seq, err)
		}
		return nil
	})
	switch {
	case errors.Is(err, journal.ErrGap):
		return Finding{subject, "the games have less than they had: " + err.Error(),
			"Restore a backup of the games and the journal, or of the games from a later time"}
	case err != nil:
		return Finding{subject, err.Error(), "Restore a backup"}
	case bad != "":
		return Finding{subject, bad,
			"It becomes a dead letter at the next start; look at it with 'wamble runner dead-letters list'"}
	}
	return Finding{Subject: subject, Text: fmt.Sprintf("%d messages wait for the games, and none is missing", n)}
}

// checkMemory checks the restart file of a profile.
func checkMemory(dir string, r *runner.Runner, profile string, memory Memory) []Finding {
	worker, ok := journal.NumberOf(r, profile)
	if !ok {
		return nil
	}
	path := filepath.Join(dir, "restart", strconv.FormatUint(uint64(worker), 10))
	if err := memory(path, store.JournalID(r.JournalID()), profile); err != nil {
		return []Finding{{path, err.Error(), "Delete it: the next start reads the database instead, and takes longer"}}
	}
	return nil
}

// checkOwner looks for files that do not belong to the owner of the directory.
func checkOwner(dir string) Finding {
	info, err := os.Stat(dir)
	if err != nil {
		return Finding{dir, err.Error(), "Name the data directory with --data"}
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	otherOwner := ""
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // other checks report unreadable files
		}
		if i, err := d.Info(); err == nil && ok && otherOwner == "" {
			if s, ok := i.Sys().(*syscall.Stat_t); ok && s.Uid != owner.Uid {
				otherOwner = path
			}
		}
		return nil
	})
	if otherOwner != "" {
		return Finding{dir, otherOwner + " belongs to another user than the directory",
			fmt.Sprintf("Run 'chown -R --reference=%s %s' as root", dir, dir)}
	}
	return Finding{Subject: dir, Text: "its files belong to one user"}
}

// checkLeft lists files that interrupted work has left.
func checkLeft(dir string) (list []Finding) {
	for _, left := range []struct{ pattern, what string }{
		{"handoff-*.state", "the state of a handoff that did not end"},
		{"backup-checkpoint", "a part of a backup that was interrupted"},
		{unpackedName, "a part of a restore that was interrupted"},
		{"crash-*.txt", "the stack of a panic: please report it"},
		{"panic-*.txt", "the stack of a panic: please report it"},
	} {
		found, _ := filepath.Glob(filepath.Join(dir, left.pattern)) // the patterns are valid
		for _, path := range found {
			list = append(list, Finding{Subject: path, Text: left.what + "; it may be deleted"})
		}
	}
	return list
}

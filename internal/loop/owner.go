package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"wamble/internal/store"
)

// A profile is written by one server at a time, its owner, which writes a beat to the store every heartbeatEvery
// while it can. An owner without a beat for ownerTimeout counts as dead; that is longer than an owner takes to
// reconnect after an outage.
const (
	heartbeatEvery = 2 * time.Second
	ownerTimeout   = 15 * time.Second
)

// acquireOwnership makes this process the owner of the profile. If another server owns it, acquireOwnership waits
// until that server writes a beat, which is an error, or until ownerTimeout has passed. Errors: *store.Owned, or
// one of the store.
func (rt *Runtime) acquireOwnership(ctx context.Context) error {
	try := func(over int64) (*store.Owned, error) {
		limited, cancel := context.WithTimeout(ctx, loadTime)
		defer cancel()
		err := rt.o.Database.Own(limited, rt.o.Name, rt.journal().Owner, over)
		var other *store.Owned
		if errors.As(err, &other) {
			return other, nil
		}
		return nil, err
	}
	first, err := try(0)
	if first == nil || err != nil {
		return err
	}
	gone := rt.isPredecessor(first.By)
	if first.Beat != 0 && !gone {
		if up, _ := rt.Stage(); !up {
			rt.stage.set(fmt.Sprintf("waiting whether the last owner of the profile is gone: %s", first.By))
		}
		rt.o.Log.Warn("another server has written this profile's games; waiting whether it is gone",
			"store", rt.o.Database.Name, "owner", first.By.String(), "at most", ownerTimeout)
	}
	for end := time.Now().Add(ownerTimeout); first.Beat != 0; {
		if !gone {
			sleep(ctx, heartbeatEvery/2)
		}
		over := int64(0)
		if gone || time.Now().After(end) {
			if err := rt.checkPredecessor(first.By); err != nil {
				return err
			}
			over = first.Beat
		}
		other, err := try(over)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || other == nil:
			return err
		case other.Beat != first.Beat:
			return other
		}
		gone = false // a later process writes beats for it
	}
	return first
}

// checkPredecessor returns an error if a dead owner had another journal, which may have moves that the database
// lacks. Machines that share a journal have the same one. A single machine that has lost its disk goes on
// without these moves.
func (rt *Runtime) checkPredecessor(dead store.Owner) error {
	me := rt.journal()
	if dead.Journal == me.Owner.Journal {
		return nil
	}
	if me.Lease == nil {
		rt.o.Log.Error("the last server of this profile was not stopped in order and had another journal: moves that "+
			"only that has are not played on. "+
			"If it is still there, stop this server, and start that one once more", "store", rt.o.Database.Name,
			"owner", dead.String())
		return nil
	}
	return fmt.Errorf("%w: the last server of profile %s (%s) was not stopped in order and had another one, which "+
		"may have moves that %s lacks. "+
		"Start once more with the options journal-* as they were, on one machine, and stop it in order, which brings "+
		"them there. "+
		`To give them up, run there: DELETE FROM profile_owners WHERE journal_id = '\x%x'`, ErrOtherDatabase, rt.o.Name,
		dead, rt.o.Database.Name, dead.Journal[:])
}

// isPredecessor reports whether another owner was an earlier process on this journal: a process before a handoff
// to this one, or a process of this machine that has ended. Owner.Follows would know that too, unless the clock
// was set back meanwhile.
func (rt *Runtime) isPredecessor(other store.Owner) bool {
	me := &rt.journal().Owner
	if other.Journal != me.Journal || other.Host != me.Host {
		return false
	}
	if other.PID == me.PID {
		return true
	}
	p, err := os.FindProcess(other.PID)
	return err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// LiveOwner returns an owner of a profile in the store that writes a beat within the given time, nil if none
// does; 0 means ownerTimeout. Owners for which except reports true are ignored; except may be nil.
func LiveOwner(ctx context.Context, s Store, within time.Duration,
	except func(store.Owner) bool) (*store.Owned, error) {
	if within == 0 {
		within = ownerTimeout
	}
	var before []store.Owned
	for end := time.Now().Add(within); ; sleep(ctx, heartbeatEvery/4) {
		owners, err := s.Owners(ctx)
		if except != nil {
			owners = slices.DeleteFunc(owners, func(o store.Owned) bool { return except(o.By) })
		}
		if err != nil || len(owners) == 0 {
			return nil, err
		}
		for i := range owners {
			// An owner that was not there before has come since.
			if owners[i].Beat == 0 || before != nil && !slices.Contains(before, owners[i]) {
				return &owners[i], nil
			}
		}
		if time.Now().After(end) {
			return nil, nil
		}
		before = owners
	}
}

// MayMigrate returns an error if a server runs on the store that could not use it after its pending
// migrations. Within and except are those of LiveOwner.
func MayMigrate(ctx context.Context, s Store, within time.Duration, except func(store.Owner) bool) error {
	st, err := s.Status(ctx)
	if err != nil || st.Version == 0 || len(st.Breaks) == 0 {
		return err
	}
	other, err := LiveOwner(ctx, s, within, except)
	if err != nil || other == nil {
		return err
	}
	return fmt.Errorf("a server runs on this database (%s), and could not go on after %s: stop it first. "+
		"A newer server migrates by itself when it starts", other.By, strings.Join(st.Breaks, ", "))
}

// isSelf reports whether an owner is this process, on any journal, or was an earlier process on this journal.
func (rt *Runtime) isSelf(other store.Owner) bool {
	me := &rt.journal().Owner
	return other.Host == me.Host && other.PID == me.PID || rt.isPredecessor(other)
}

// heartbeatLoop writes the beat of this process until ctx ends. If another process has taken the profile, the
// runtime ends. The owner of an adopted profile is written first.
func (rt *Runtime) heartbeatLoop(ctx context.Context, adopted bool) {
	for pause := firstPause; adopted && ctx.Err() == nil; pause = min(2*pause, longestPause) {
		err := rt.acquireOwnership(ctx)
		var other *store.Owned
		if errors.As(err, &other) {
			rt.crash(other)
			return
		}
		if adopted = err != nil; adopted {
			rt.watch.suspect(err)
			sleep(ctx, pause)
		}
	}
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, loadTime)
		err := rt.o.Database.Beat(limited, rt.o.Name, rt.journal().Owner)
		cancel()
		var other *store.Owned
		switch {
		case ctx.Err() != nil:
		case errors.As(err, &other):
			rt.crash(other)
			return
		case err != nil:
			rt.watch.suspect(err)
		default:
			rt.watch.compare(ctx)
		}
		sleep(ctx, heartbeatEvery)
	}
}

// checkSeparateStore logs an error if another profile of this process has the same database under another name.
// An owner's row may be old, so nothing is refused.
func (rt *Runtime) checkSeparateStore(ctx context.Context) error {
	owners, err := rt.o.Database.Owners(ctx)
	for _, o := range owners {
		if rt.isSelf(o.By) && rt.o.Server.SeparateStore(o.Profile) {
			rt.o.Log.Error("another profile has the same database under another name, and neither gets events of the "+
				"other, such as a logout: "+
				"write db-host, db-port and db-name alike in both", "store", rt.o.Database.Name, "other", o.Profile)
		}
	}
	return err
}

// releaseTimeout bounds ReleaseOwnership, whatever time a stop has left: if the end does not reach the database,
// the next server waits for ownerTimeout.
const releaseTimeout = time.Second

// ReleaseOwnership gives up the ownership of the profile. This process must not write to it any more.
func (rt *Runtime) ReleaseOwnership(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := rt.o.Database.Disown(ctx, rt.o.Name, rt.journal().Owner); err != nil {
		rt.o.Log.Info("another server has to wait for the profile, because the end of this one was not written to "+
			"the database",
			"store", rt.o.Database.Name, "err", err)
	}
}

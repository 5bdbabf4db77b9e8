package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wamble/internal/profile"
	"wamble/runner"
)

// Restricted is what the host has restricted in a profile until he lifts it. It is
// kept in the journal, so that it holds after a restart too.
type Restricted struct {
	Brownout profile.Brownout
	Bans     []Ban
}

// Ban keeps somebody out.
type Ban struct {
	Whom  string
	Text  string
	Until time.Time // zero: for ever
}

// over reports whether the time of a ban is over.
func (b *Ban) over(now time.Time) bool { return !b.Until.IsZero() && !now.Before(b.Until) }

// mostBans bounds what is kept of one profile.
const mostBans = 4096

func (r *Restricted) ban(b Ban, now time.Time) error {
	r.unban(b.Whom)
	r.Bans = slices.DeleteFunc(r.Bans, func(other Ban) bool { return other.over(now) })
	if len(r.Bans) >= mostBans {
		return fmt.Errorf("there are %d bans, and no room for another", mostBans)
	}
	r.Bans = append(r.Bans, b)
	return nil
}

// unban forgets the bans of somebody, however he was named.
func (r *Restricted) unban(whom string) {
	named, wrong := parsePlayer(whom)
	r.Bans = slices.DeleteFunc(r.Bans, func(b Ban) bool {
		other, err := parsePlayer(b.Whom)
		return b.Whom == whom || wrong == nil && err == nil && other == named
	})
}

// inputs is what a profile that starts is told.
func (r *Restricted) inputs(draining bool, now time.Time) []profile.Input {
	in := []profile.Input{brownoutInput(r.effective(draining))}
	for _, b := range r.Bans {
		if whom, err := parsePlayer(b.Whom); err == nil && !b.over(now) {
			in = append(in, banInput(whom, b.Text, b.Until))
		}
	}
	return in
}

// effective adds what a draining server does without.
func (r *Restricted) effective(draining bool) profile.Brownout {
	b := r.Brownout
	b.NoNewSessions = b.NoNewSessions || draining
	return b
}

// Restrictions are those of one profile, durably. They may be used by many
// goroutines.
type Restrictions struct {
	runner   *runner.Runner
	name     string       // of the profile
	draining *atomic.Bool // of the server

	mu   sync.Mutex // guards what follows
	held Restricted
}

// ReadRestrictions fetches the restrictions of a profile from the journal.
func ReadRestrictions(r *runner.Runner, name string, draining *atomic.Bool) (*Restrictions, error) {
	rs := &Restrictions{runner: r, name: name, draining: draining}
	err := r.View(func(get func([]byte) ([]byte, error)) error {
		text, err := get(rs.key())
		if errors.Is(err, runner.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &rs.held)
	})
	if err != nil {
		return nil, fmt.Errorf("the restrictions of profile %s: %w", name, err)
	}
	return rs, nil
}

func (rs *Restrictions) key() []byte { return []byte("server/standing/" + rs.name) }

// Change changes the restrictions, durably, and returns how many bans were lifted.
func (rs *Restrictions) Change(ctx context.Context, change func(*Restricted) error) (lifted int, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	next := Restricted{Brownout: rs.held.Brownout, Bans: append([]Ban(nil), rs.held.Bans...)}
	if err := change(&next); err != nil {
		return 0, err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	_, err = rs.runner.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error { return tx.Put(rs.key(), text) })
	if err != nil {
		return 0, fmt.Errorf("keep it for profile %s: %w", rs.name, err)
	}
	lifted = len(rs.held.Bans) - len(next.Bans)
	rs.held = next
	return lifted, nil
}

// Inputs is what a profile that starts is told.
func (rs *Restrictions) Inputs() []profile.Input {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.held.inputs(rs.draining.Load(), time.Now())
}

// Brownout is what the profile does without now.
func (rs *Restrictions) Brownout() profile.Brownout {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.held.effective(rs.draining.Load())
}

// Bans returns all bans, the newest last.
func (rs *Restrictions) Bans() []Ban {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.Clone(rs.held.Bans)
}

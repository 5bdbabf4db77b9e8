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
	// Announced are announcements that stay.
	Announced []Announced `json:",omitempty"`
	// Lifted are the numbers of bans in all profiles that do not hold in this one.
	Lifted []uint64 `json:",omitempty"`
	// Last is the number of the last ban in all profiles; 0 in those of one.
	Last uint64 `json:",omitempty"`

	everywhere []Ban       // in all profiles
	announced  []Announced // in all profiles
}

// Ban keeps somebody out.
type Ban struct {
	Whom  string // without a token: its hash
	Text  string
	Until time.Time // zero: for ever
	By    string    `json:",omitempty"` // who has ordered it
	At    time.Time `json:",omitzero"`  // when
	// Number is that of a ban in all profiles, also in those that come later.
	Number uint64 `json:",omitzero"`
}

// over reports whether the time of a ban is over.
func (b *Ban) over(now time.Time) bool { return !b.Until.IsZero() && !now.Before(b.Until) }

// mostBans bounds what is kept of one profile.
const mostBans = 4096

// ban adds a ban, which takes the place of earlier ones.
func (r *Restricted) ban(b Ban, now time.Time) error {
	r.unban(b.Whom)
	r.Bans = slices.DeleteFunc(r.Bans, func(other Ban) bool { return other.over(now) })
	if len(r.Bans) >= mostBans {
		return fmt.Errorf("there are %d bans, and no room for another", mostBans)
	}
	b.Whom = withoutToken(b.Whom)
	r.Bans = append(r.Bans, b)
	return nil
}

// unban forgets the bans of somebody, however he was named.
func (r *Restricted) unban(whom string) {
	r.drop(whom)
	for _, b := range r.everywhere {
		if b.isOf(whom) && !slices.Contains(r.Lifted, b.Number) {
			r.Lifted = append(r.Lifted, b.Number)
		}
	}
}

// drop forgets the bans of somebody, but not those in all profiles.
func (r *Restricted) drop(whom string) {
	r.Bans = slices.DeleteFunc(r.Bans, func(b Ban) bool { return b.isOf(whom) })
}

// isOf reports whether a ban is that of somebody, however he is named.
func (b *Ban) isOf(whom string) bool {
	named, wrong := parsePlayer(whom)
	other, err := parsePlayer(b.Whom)
	return b.Whom == whom || wrong == nil && err == nil && other == named
}

// all returns the bans that hold in the profile: first those that hold in all.
func (r *Restricted) all() []Ban {
	all := slices.DeleteFunc(slices.Clone(r.everywhere), func(b Ban) bool { return slices.Contains(r.Lifted, b.Number) })
	return append(all, r.Bans...)
}

// forget forgets which bans were lifted here that hold nowhere any more.
func (r *Restricted) forget() {
	r.Lifted = slices.DeleteFunc(r.Lifted, func(n uint64) bool {
		return !slices.ContainsFunc(r.everywhere, func(b Ban) bool { return b.Number == n })
	})
}

// inputs is what a profile that starts is told.
func (r *Restricted) inputs(draining bool, now time.Time) []profile.Input {
	in := []profile.Input{brownoutInput(r.effective(draining))}
	if all := r.standing(now); len(all) > 0 {
		in = append(in, &profile.Stand{All: all, Quiet: true})
	}
	for _, b := range r.all() {
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
	name     string       // of the profile; "": all profiles
	draining *atomic.Bool // of the server
	// everywhere are those of all profiles; nil: they are these.
	everywhere *Restrictions

	mu   sync.Mutex // guards what follows
	held Restricted
}

// ReadRestrictions fetches the restrictions of all profiles together from the journal.
func ReadRestrictions(r *runner.Runner, draining *atomic.Bool) (*Restrictions, error) {
	return readRestrictions(&Restrictions{runner: r, draining: draining})
}

// Of fetches the restrictions of one profile: its own, and those of all.
func (rs *Restrictions) Of(name string) (*Restrictions, error) {
	return readRestrictions(&Restrictions{runner: rs.runner, name: name, draining: rs.draining, everywhere: rs})
}

func readRestrictions(rs *Restrictions) (*Restrictions, error) {
	r, name := rs.runner, rs.name
	err := r.View(func(get func([]byte) ([]byte, error)) error {
		text, err := get(rs.key())
		if errors.Is(err, runner.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		err = json.Unmarshal(text, &rs.held)
		for i := range rs.held.Bans {
			b := &rs.held.Bans[i]
			b.Whom = withoutToken(b.Whom) // an older image kept tokens
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the restrictions of profile %s: %w", name, err)
	}
	return rs, nil
}

func (rs *Restrictions) key() []byte { return []byte("server/standing/" + rs.name) }

// Change changes the restrictions, durably, and returns how many bans were lifted or
// announcements withdrawn.
func (rs *Restrictions) Change(ctx context.Context, change func(*Restricted) error) (lifted int, err error) {
	everywhere, announced := rs.ofAll()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.held.everywhere, rs.held.announced = everywhere, announced
	next := Restricted{Brownout: rs.held.Brownout, Bans: slices.Clone(rs.held.Bans), Lifted: slices.Clone(rs.held.Lifted), Last: rs.held.Last,
		Announced: slices.Clone(rs.held.Announced), everywhere: everywhere, announced: announced}
	if err := change(&next); err != nil {
		return 0, err
	}
	next.forget()
	if rs.everywhere == nil {
		next.number()
	}
	text, err := json.Marshal(next)
	if err != nil {
		return 0, err
	}
	_, err = rs.runner.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error { return tx.Put(rs.key(), text) })
	if err != nil {
		return 0, fmt.Errorf("keep it for profile %s: %w", rs.name, err)
	}
	now := time.Now()
	lifted = len(rs.held.all()) - len(next.all()) + max(0, len(rs.held.standing(now))-len(next.standing(now)))
	rs.held = next
	return lifted, nil
}

// number gives a number to bans that have none.
func (r *Restricted) number() {
	for i := range r.Bans {
		if r.Bans[i].Number == 0 {
			r.Last++
			r.Bans[i].Number = r.Last
		}
	}
}

// ofAll are the bans and announcements of all profiles.
func (rs *Restrictions) ofAll() ([]Ban, []Announced) {
	if rs.everywhere == nil {
		return nil, nil
	}
	return rs.everywhere.Bans(), rs.everywhere.Announced()
}

// Inputs is what a profile that starts is told.
func (rs *Restrictions) Inputs() []profile.Input {
	everywhere, announced := rs.ofAll()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.held.everywhere, rs.held.announced = everywhere, announced
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
	everywhere, announced := rs.ofAll()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.held.everywhere, rs.held.announced = everywhere, announced
	return rs.held.all()
}

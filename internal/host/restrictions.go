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
	// Revision rises with each change, in microseconds where an older program, which does
	// not know it, has changed something; 0: that has.
	Revision int64 `json:",omitempty"`

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
	keeper   Keeper
	name     string       // of the profile; "": all profiles
	draining *atomic.Bool // of the server
	// everywhere are those of all profiles; nil: they are these.
	everywhere *Restrictions

	mu   sync.Mutex // guards what follows
	held Restricted
}

// Keeper keeps texts durably, by name.
type Keeper interface {
	// Read returns a text, "" if there is none.
	Read(name string) (text string, err error)
	// Amend changes a text. Nobody else changes it meanwhile.
	Amend(ctx context.Context, name string, change func(text string) (string, error)) error
}

// InJournal keeps texts in the journal.
func InJournal(r *runner.Runner) Keeper { return inJournal{r} }

type inJournal struct{ r *runner.Runner }

func (k inJournal) key(name string) []byte { return []byte("server/standing/" + name) }

func (k inJournal) Read(name string) (text string, err error) {
	err = k.r.View(func(get func([]byte) ([]byte, error)) error {
		b, err := get(k.key(name))
		if errors.Is(err, runner.ErrNotFound) {
			return nil
		}
		text = string(b)
		return err
	})
	return text, err
}

func (k inJournal) Amend(ctx context.Context, name string, change func(text string) (string, error)) error {
	text, err := k.Read(name)
	if err == nil {
		text, err = change(text)
	}
	if err != nil {
		return err
	}
	_, err = k.r.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error { return tx.Put(k.key(name), []byte(text)) })
	if err != nil {
		return fmt.Errorf("keep it for profile %s: %w", name, err)
	}
	return nil
}

// ReadRestrictions fetches the restrictions of all profiles together from the journal.
func ReadRestrictions(r *runner.Runner, draining *atomic.Bool) (*Restrictions, error) {
	return ShareRestrictions(InJournal(r), draining)
}

// ShareRestrictions is ReadRestrictions where others keep them too: they are told of
// changes by Hear.
func ShareRestrictions(k Keeper, draining *atomic.Bool) (*Restrictions, error) {
	return readRestrictions(&Restrictions{keeper: k, draining: draining})
}

// Of fetches the restrictions of one profile: its own, and those of all.
func (rs *Restrictions) Of(name string) (*Restrictions, error) {
	return readRestrictions(&Restrictions{keeper: rs.keeper, name: name, draining: rs.draining, everywhere: rs})
}

func readRestrictions(rs *Restrictions) (*Restrictions, error) {
	text, err := rs.keeper.Read(rs.name)
	if err == nil {
		err = rs.Hear(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the restrictions of profile %s: %w", rs.name, err)
	}
	return rs, nil
}

// Hear takes what the keeper has, unless it is older than what is known.
func (rs *Restrictions) Hear(text string) error {
	held, err := parseRestricted(text)
	if err == nil {
		rs.mu.Lock()
		defer rs.mu.Unlock()
		if held.Revision == 0 || held.Revision >= rs.held.Revision {
			rs.held = held
		}
	}
	return err
}

// parseRestricted reads what a keeper has.
func parseRestricted(text string) (held Restricted, err error) {
	if text == "" {
		return held, nil
	}
	err = json.Unmarshal([]byte(text), &held)
	for i := range held.Bans {
		b := &held.Bans[i]
		b.Whom = withoutToken(b.Whom) // an older image kept tokens
	}
	return held, err
}

// Change changes the restrictions, durably, and returns how many bans were lifted or
// announcements withdrawn.
func (rs *Restrictions) Change(ctx context.Context, change func(*Restricted) error) (lifted int, err error) {
	everywhere, announced := rs.ofAll()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var held, next Restricted
	err = rs.keeper.Amend(ctx, rs.name, func(text string) (string, error) {
		if held, err = parseRestricted(text); err != nil {
			return "", err
		}
		held.everywhere, held.announced = everywhere, announced
		next = Restricted{Brownout: held.Brownout, Bans: slices.Clone(held.Bans), Lifted: slices.Clone(held.Lifted), Last: held.Last,
			Announced: slices.Clone(held.Announced), Revision: max(held.Revision+1, time.Now().UnixMicro()), everywhere: everywhere, announced: announced}
		if err := change(&next); err != nil {
			return "", err
		}
		next.forget()
		if rs.everywhere == nil {
			next.number()
		}
		b, err := json.Marshal(next)
		return string(b), err
	})
	if err != nil {
		return 0, err
	}
	now := time.Now()
	lifted = len(held.all()) - len(next.all()) + max(0, len(held.standing(now))-len(next.standing(now)))
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

// State is what holds now but for the bans, as a profile that runs is told.
func (rs *Restrictions) State() []profile.Input {
	return []profile.Input{brownoutInput(rs.Brownout()), &profile.Stand{All: rs.standing()}}
}

// BansSince is what a profile that runs is told of its bans, when these were they before.
func (rs *Restrictions) BansSince(before []Ban) (in []profile.Input) {
	old, bans := byWhom(before), byWhom(rs.Bans())
	for whom := range old {
		if _, holds := bans[whom]; !holds {
			in = append(in, &profile.Unban{Whom: whom})
		}
	}
	for whom, b := range bans {
		if o, known := old[whom]; (!known || o.Text != b.Text || !o.Until.Equal(b.Until)) && !b.over(time.Now()) {
			in = append(in, banInput(whom, b.Text, b.Until))
		}
	}
	return in
}

// byWhom is bans by who is banned; the newest one holds.
func byWhom(bans []Ban) map[profile.Whom]*Ban {
	of := make(map[profile.Whom]*Ban, len(bans))
	for i := range bans {
		if whom, err := parsePlayer(bans[i].Whom); err == nil {
			of[whom] = &bans[i]
		}
	}
	return of
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

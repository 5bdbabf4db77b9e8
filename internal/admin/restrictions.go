package admin

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

// Restricted has the host's restrictions of a profile, or of all profiles. It is stored by
// a TextStore, so that it holds after a restart.
type Restricted struct {
	Brownout profile.Brownout
	Bans     []Ban
	// Announced has the announcements that stay.
	Announced []Announced `json:",omitempty"`
	// Lifted has the numbers of bans of all profiles that were lifted in this one.
	Lifted []uint64 `json:",omitempty"`
	// Last is the number of the last ban of all profiles; 0 in restrictions of one profile.
	Last uint64 `json:",omitempty"`
	// Revision rises with each change: it is the time in microseconds, or the revision
	// before plus 1 if that is later. It is 0 after a change by an older version.
	Revision int64 `json:",omitempty"`

	globalBans          []Ban       // bans of all profiles
	globalAnnouncements []Announced // announcements of all profiles
}

// Ban excludes a player, an address or a network.
type Ban struct {
	Whom  string // a token is stored as its hash
	Text  string
	Until time.Time // zero for ever
	By    string    `json:",omitempty"` // who has ordered it
	At    time.Time `json:",omitzero"`  // when it was ordered
	// Number identifies a ban of all profiles; 0 for a ban of one profile.
	Number uint64 `json:",omitzero"`
}

// isOver reports whether a ban has expired.
func (b *Ban) isOver(now time.Time) bool { return !b.Until.IsZero() && !now.Before(b.Until) }

// maxBans bounds the bans of one profile, and those of all profiles.
const maxBans = 4096

// ban adds a ban, and removes other bans of the same player and expired ones.
func (r *Restricted) ban(b Ban, now time.Time) error {
	r.unban(b.Whom)
	r.Bans = slices.DeleteFunc(r.Bans, func(other Ban) bool { return other.isOver(now) })
	if len(r.Bans) >= maxBans {
		return fmt.Errorf("there are %d bans, and no room for another", maxBans)
	}
	b.Whom = withoutToken(b.Whom)
	r.Bans = append(r.Bans, b)
	return nil
}

// unban removes the bans of a player, address or network, and lifts those of all profiles
// in this one.
func (r *Restricted) unban(whom string) {
	r.drop(whom)
	for _, b := range r.globalBans {
		if b.isOf(whom) && !slices.Contains(r.Lifted, b.Number) {
			r.Lifted = append(r.Lifted, b.Number)
		}
	}
}

// drop removes the profile's own bans of a player, address or network.
func (r *Restricted) drop(whom string) {
	r.Bans = slices.DeleteFunc(r.Bans, func(b Ban) bool { return b.isOf(whom) })
}

// isOf reports whether a ban is one of a player, address or network. A token and its hash
// are the same.
func (b *Ban) isOf(whom string) bool {
	named, wrong := parsePlayer(whom)
	other, err := parsePlayer(b.Whom)
	return b.Whom == whom || wrong == nil && err == nil && other == named
}

// all returns the bans that hold in the profile: first those of all profiles, then its own.
func (r *Restricted) all() []Ban {
	all := slices.DeleteFunc(slices.Clone(r.globalBans),
		func(b Ban) bool { return slices.Contains(r.Lifted, b.Number) })
	return append(all, r.Bans...)
}

// forgetLifted removes numbers from Lifted whose bans of all profiles no longer exist.
func (r *Restricted) forgetLifted() {
	r.Lifted = slices.DeleteFunc(r.Lifted, func(n uint64) bool {
		return !slices.ContainsFunc(r.globalBans, func(b Ban) bool { return b.Number == n })
	})
}

// inputs returns the inputs that apply the restrictions to a profile that starts.
func (r *Restricted) inputs(draining bool, now time.Time) []profile.Input {
	in := []profile.Input{brownoutInput(r.effective(draining))}
	if all := r.announcements(now); len(all) > 0 {
		in = append(in, &profile.SetStanding{All: all, Quiet: true})
	}
	for _, b := range r.all() {
		if whom, err := parsePlayer(b.Whom); err == nil && !b.isOver(now) {
			in = append(in, banInput(whom, b.Text, b.Until))
		}
	}
	return in
}

// effective returns the brown-out, with no new sessions if the server is draining.
func (r *Restricted) effective(draining bool) profile.Brownout {
	b := r.Brownout
	b.NoNewSessions = b.NoNewSessions || draining
	return b
}

// Restrictions reads and changes the stored restrictions of one profile, or of all. It is
// safe for concurrent use.
type Restrictions struct {
	store    TextStore
	name     string       // of the profile; "" for all profiles
	draining *atomic.Bool // of the server
	// global has the restrictions of all profiles; nil if it is these.
	global *Restrictions

	mu      sync.Mutex // guards what follows
	current Restricted
}

// TextStore stores texts durably, by name.
type TextStore interface {
	// Read returns a text; "" if there is none.
	Read(name string) (text string, err error)
	// Amend replaces a text by what change returns for it, atomically.
	Amend(ctx context.Context, name string, change func(text string) (string, error)) error
}

// InJournal returns a TextStore that stores texts in the journal.
func InJournal(r *runner.Runner) TextStore { return inJournal{r} }

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
	_, err = k.r.Update(ctx, runner.AttemptPolicy{},
		func(tx *runner.Tx) error { return tx.Put(k.key(name), []byte(text)) })
	if err != nil {
		return fmt.Errorf("keep it for profile %s: %w", name, err)
	}
	return nil
}

// ReadRestrictions reads the restrictions of all profiles from the journal.
func ReadRestrictions(r *runner.Runner, draining *atomic.Bool) (*Restrictions, error) {
	return OpenSharedRestrictions(InJournal(r), draining)
}

// OpenSharedRestrictions reads the restrictions of all profiles from a TextStore that several nodes
// share. Changes by other nodes are passed to Hear.
func OpenSharedRestrictions(k TextStore, draining *atomic.Bool) (*Restrictions, error) {
	return readRestrictions(&Restrictions{store: k, draining: draining})
}

// Of reads the restrictions of one profile. Those of all profiles are included.
func (rs *Restrictions) Of(name string) (*Restrictions, error) {
	return readRestrictions(&Restrictions{store: rs.store, name: name, draining: rs.draining, global: rs})
}

func readRestrictions(rs *Restrictions) (*Restrictions, error) {
	text, err := rs.store.Read(rs.name)
	if err == nil {
		err = rs.Update(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the restrictions of profile %s: %w", rs.name, err)
	}
	return rs, nil
}

// Update replaces the restrictions by a text of the keeper, unless that has a lower revision
// other than 0.
func (rs *Restrictions) Update(text string) error {
	held, err := parseRestricted(text)
	if err == nil {
		rs.mu.Lock()
		defer rs.mu.Unlock()
		if held.Revision == 0 || held.Revision >= rs.current.Revision {
			rs.current = held
		}
	}
	return err
}

// NewerRestrictions returns the text with the higher revision; a if they are equal.
func NewerRestrictions(a, b string) (string, error) {
	of, err := parseRestricted(a)
	other, err2 := parseRestricted(b)
	if other.Revision > of.Revision || a == "" {
		return b, errors.Join(err, err2)
	}
	return a, errors.Join(err, err2)
}

// parseRestricted parses a text of a keeper.
func parseRestricted(text string) (held Restricted, err error) {
	if text == "" {
		return held, nil
	}
	err = json.Unmarshal([]byte(text), &held)
	for i := range held.Bans {
		b := &held.Bans[i]
		b.Whom = withoutToken(b.Whom) // older versions stored tokens
	}
	return held, err
}

// Change changes the restrictions durably. It returns the number of bans lifted or
// announcements withdrawn.
func (rs *Restrictions) Change(ctx context.Context, change func(*Restricted) error) (lifted int, err error) {
	everywhere, announced := rs.globalEntries()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var held, next Restricted
	err = rs.store.Amend(ctx, rs.name, func(text string) (string, error) {
		if held, err = parseRestricted(text); err != nil {
			return "", err
		}
		held.globalBans, held.globalAnnouncements = everywhere, announced
		next = Restricted{Brownout: held.Brownout, Bans: slices.Clone(held.Bans), Lifted: slices.Clone(held.Lifted),
			Last: held.Last, Announced: slices.Clone(held.Announced),
			Revision:   max(held.Revision+1, time.Now().UnixMicro()),
			globalBans: everywhere, globalAnnouncements: announced}
		if err := change(&next); err != nil {
			return "", err
		}
		next.forgetLifted()
		if rs.global == nil {
			next.number()
		}
		b, err := json.Marshal(next)
		return string(b), err
	})
	if err != nil {
		return 0, err
	}
	now := time.Now()
	lifted = len(held.all()) - len(next.all()) + max(0, len(held.announcements(now))-len(next.announcements(now)))
	rs.current = next
	return lifted, nil
}

// number numbers the bans that have no number.
func (r *Restricted) number() {
	for i := range r.Bans {
		if r.Bans[i].Number == 0 {
			r.Last++
			r.Bans[i].Number = r.Last
		}
	}
}

// globalEntries returns the bans and announcements of all profiles; nil if rs is that.
func (rs *Restrictions) globalEntries() ([]Ban, []Announced) {
	if rs.global == nil {
		return nil, nil
	}
	return rs.global.Bans(), rs.global.Announced()
}

// Inputs returns the inputs that apply the restrictions to a profile that starts.
func (rs *Restrictions) Inputs() []profile.Input {
	everywhere, announced := rs.globalEntries()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.current.globalBans, rs.current.globalAnnouncements = everywhere, announced
	return rs.current.inputs(rs.draining.Load(), time.Now())
}

// State returns the inputs that apply the brown-out and the announcements to a running
// profile.
func (rs *Restrictions) State() []profile.Input {
	return []profile.Input{brownoutInput(rs.Brownout()), &profile.SetStanding{All: rs.announcements()}}
}

// BansSince returns the inputs that change the bans of a running profile from before to the
// current ones.
func (rs *Restrictions) BansSince(before []Ban) (in []profile.Input) {
	old, bans := byWhom(before), byWhom(rs.Bans())
	for whom := range old {
		if _, holds := bans[whom]; !holds {
			in = append(in, &profile.Unban{Whom: whom})
		}
	}
	for whom, b := range bans {
		if o, known := old[whom]; (!known || o.Text != b.Text || !o.Until.Equal(b.Until)) && !b.isOver(time.Now()) {
			in = append(in, banInput(whom, b.Text, b.Until))
		}
	}
	return in
}

// byWhom maps those who are banned to their newest ban.
func byWhom(bans []Ban) map[profile.Target]*Ban {
	of := make(map[profile.Target]*Ban, len(bans))
	for i := range bans {
		if whom, err := parsePlayer(bans[i].Whom); err == nil {
			of[whom] = &bans[i]
		}
	}
	return of
}

// Brownout returns the current brown-out of the profile.
func (rs *Restrictions) Brownout() profile.Brownout {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.current.effective(rs.draining.Load())
}

// Bans returns the bans that hold in the profile: first those of all profiles, then its own,
// each oldest first.
func (rs *Restrictions) Bans() []Ban {
	everywhere, announced := rs.globalEntries()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.current.globalBans, rs.current.globalAnnouncements = everywhere, announced
	return rs.current.all()
}

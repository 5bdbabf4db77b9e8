package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"wamble"
	"wamble/internal/loop"
	"wamble/internal/profile"
	"wamble/runner"
	"wamble/wire"
)

// Order is what a host tells profiles about their players. Only the fields of its
// verb count.
type Order struct {
	Profile  string           `json:"profile,omitempty"` // "": all
	Text     string           `json:"text,omitempty"`    // for the players
	Whom     string           `json:"whom,omitempty"`    // a token, a key in hex, an address or a network
	Until    time.Time        `json:"until,omitzero"`    // of a ban; zero: for ever
	Brownout profile.Brownout `json:"brownout,omitzero"`
	Board    wamble.BoardID   `json:"board,omitempty"`
	Urgent   bool             `json:"urgent,omitempty"` // an announcement of maintenance
	On       bool             `json:"on,omitempty"`
}

// Obeyed is what came of an order: how many players it met, by profile.
type Obeyed map[string]uint64

// standing is what the host has said of a profile and still holds. It is kept in
// the journal, so that it holds after a restart too.
type standing struct {
	Brownout profile.Brownout
	Bans     []ban
}

type ban struct {
	Whom  string
	Text  string
	Until time.Time
}

// mostBans bounds what is kept of one profile.
const mostBans = 4096

// parseWhom reads a token, a public key in hex, an address or a network.
func parseWhom(text string) (profile.Whom, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return profile.Whom{Net: netip.PrefixFrom(a.WithZone(""), a.BitLen())}, nil
	}
	if n, err := netip.ParsePrefix(text); err == nil {
		return profile.Whom{Net: n}, nil
	}
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(wamble.PublicKey{}) {
		return profile.Whom{Key: wamble.PublicKey(b)}, nil
	} else if err == nil && len(b) == len(wamble.Token{}) && wamble.Token(b) != (wamble.Token{}) {
		return profile.Whom{Token: wamble.Token(b)}, nil // as browsers keep it
	}
	if t, err := wamble.ParseToken(text); err == nil && !t.IsZero() {
		return profile.Whom{Token: t}, nil
	}
	// The text is not repeated: it may be a token with a slip in it.
	return profile.Whom{}, errors.New("name a player by his token, his public key (64 hex digits), his address or his network (192.0.2.0/24)")
}

// inputs is what a new life is told of what holds.
func (s *standing) inputs(draining bool, now time.Time) []profile.Input {
	in := []profile.Input{&profile.SetBrownout{Brownout: s.effective(draining)}}
	for _, b := range s.Bans {
		whom, err := parseWhom(b.Whom)
		if err != nil || !b.Until.IsZero() && now.After(b.Until) {
			continue
		}
		in = append(in, &profile.Ban{Whom: whom, Text: b.Text, Until: b.Until})
	}
	return in
}

// effective adds what a draining server does without.
func (s *standing) effective(draining bool) profile.Brownout {
	b := s.Brownout
	b.NoNewSessions = b.NoNewSessions || draining
	return b
}

func (s *standing) ban(b ban, now time.Time) error {
	s.unban(b.Whom)
	kept := s.Bans[:0]
	for _, other := range s.Bans {
		if other.Until.IsZero() || now.Before(other.Until) {
			kept = append(kept, other)
		}
	}
	if s.Bans = kept; len(kept) >= mostBans {
		return fmt.Errorf("there are %d bans, and no room for another", mostBans)
	}
	s.Bans = append(s.Bans, b)
	return nil
}

// unban forgets the bans of somebody, however he was named.
func (s *standing) unban(whom string) {
	named, wrong := parseWhom(whom)
	s.Bans = slices.DeleteFunc(s.Bans, func(b ban) bool {
		other, err := parseWhom(b.Whom)
		return b.Whom == whom || wrong == nil && err == nil && other == named
	})
}

func standingKey(name string) []byte { return []byte("server/standing/" + name) }

// readStanding fetches what holds of a profile.
func (s *Server) readStanding(name string) (st standing, err error) {
	err = s.runner.View(func(get func([]byte) ([]byte, error)) error {
		text, err := get(standingKey(name))
		if errors.Is(err, runner.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &st)
	})
	if err != nil {
		err = fmt.Errorf("what the host has said of profile %s: %w", name, err)
	}
	return st, err
}

// keepStanding changes what holds of a profile, durably.
func (s *Server) keepStanding(ctx context.Context, k *keeper, change func(*standing) error) error {
	k.word.Lock()
	defer k.word.Unlock()
	next := standing{Brownout: k.standing.Brownout, Bans: append([]ban(nil), k.standing.Bans...)}
	if err := change(&next); err != nil {
		return err
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	_, err = s.runner.Update(ctx, runner.AttemptPolicy{}, func(tx *runner.Tx) error { return tx.Put(standingKey(k.name), text) })
	if err != nil {
		return fmt.Errorf("keep it for profile %s: %w", k.name, err)
	}
	k.standing = next
	return nil
}

// told returns what a new life is told.
func (k *keeper) told() []profile.Input {
	k.word.Lock()
	defer k.word.Unlock()
	return k.standing.inputs(k.draining.Load(), time.Now())
}

// chosen returns the profiles that an order is for.
func (s *Server) chosen(name string) ([]*keeper, error) {
	if name == "" {
		return s.keepers(), nil
	}
	if k := s.keeper(name); k != nil {
		return []*keeper{k}, nil
	}
	var names []string
	for _, k := range s.keepers() {
		names = append(names, k.name)
	}
	return nil, fmt.Errorf("no profile %q runs here, but %s", name, strings.Join(names, ", "))
}

// each does something to all chosen profiles, and goes on after an error.
func (s *Server) each(name string, do func(k *keeper) (uint64, error)) (Obeyed, error) {
	list, err := s.chosen(name)
	if err != nil {
		return nil, err
	}
	done := Obeyed{}
	var errs []error
	for _, k := range list {
		n, err := do(k)
		if err != nil {
			errs = append(errs, fmt.Errorf("profile %s: %w", k.name, err))
			continue
		}
		done[k.name] = n
	}
	return done, errors.Join(errs...)
}

func (s *Server) announce(ctx context.Context, o Order) (Obeyed, error) {
	if o.Text == "" {
		return nil, errors.New("an announcement needs a text")
	}
	notice := wire.NoticeAnnouncement
	if o.Urgent {
		notice = wire.NoticeMaintenance
	}
	s.log.Info("an announcement to players", "text", o.Text)
	return s.each(o.Profile, func(k *keeper) (uint64, error) {
		_, _, err := k.Tell(ctx, &profile.Announce{Notice: notice, Text: o.Text})
		return uint64(k.Look(ctx).Gauges.LivePlayers), err
	})
}

func (s *Server) kick(ctx context.Context, o Order) (Obeyed, error) {
	whom, err := parseWhom(o.Whom)
	if err != nil {
		return nil, err
	}
	s.log.Info("players are kicked", "reason", o.Text)
	return s.each(o.Profile, func(k *keeper) (uint64, error) {
		before, after, err := k.Tell(ctx, &profile.Kick{Whom: whom, Text: o.Text})
		return after.Kicked - before.Kicked, err
	})
}

func (s *Server) ban(ctx context.Context, o Order) (Obeyed, error) {
	whom, err := parseWhom(o.Whom)
	if err != nil {
		return nil, err
	}
	s.log.Info("players are banned", "reason", o.Text, "until", o.Until)
	return s.each(o.Profile, func(k *keeper) (uint64, error) {
		err := s.keepStanding(ctx, k, func(st *standing) error {
			return st.ban(ban{Whom: o.Whom, Text: o.Text, Until: o.Until}, time.Now())
		})
		if err != nil {
			return 0, err
		}
		before, after, err := k.Tell(ctx, &profile.Ban{Whom: whom, Text: o.Text, Until: o.Until})
		if errors.Is(err, loop.ErrNotUp) {
			return 0, nil // it is told when it is up
		}
		return after.Kicked - before.Kicked, err
	})
}

func (s *Server) unban(ctx context.Context, o Order) (Obeyed, error) {
	whom, err := parseWhom(o.Whom)
	if err != nil {
		return nil, err
	}
	s.log.Info("a ban is lifted")
	return s.each(o.Profile, func(k *keeper) (uint64, error) {
		lifted := uint64(0)
		err := s.keepStanding(ctx, k, func(st *standing) error {
			had := len(st.Bans)
			st.unban(o.Whom)
			lifted = uint64(had - len(st.Bans))
			return nil
		})
		if err == nil {
			_, _, err = k.Tell(ctx, &profile.Unban{Whom: whom})
		}
		if errors.Is(err, loop.ErrNotUp) {
			err = nil
		}
		return lifted, err
	})
}

func (s *Server) brownout(ctx context.Context, o Order) (Obeyed, error) {
	return s.each(o.Profile, func(k *keeper) (uint64, error) {
		err := s.keepStanding(ctx, k, func(st *standing) error {
			st.Brownout = o.Brownout
			return nil
		})
		if err != nil {
			return 0, err
		}
		k.log.Info("brown-out", "no_new_sessions", o.Brownout.NoNewSessions, "no_predictions", o.Brownout.NoPredictions,
			"slow_watching", o.Brownout.SlowWatching, "read_only", o.Brownout.ReadOnly)
		return 0, k.brown(ctx)
	})
}

// brown tells the profile what it does without now.
func (k *keeper) brown(ctx context.Context) error {
	k.word.Lock()
	b := k.standing.effective(k.draining.Load())
	k.word.Unlock()
	_, _, err := k.Tell(ctx, &profile.SetBrownout{Brownout: b})
	if errors.Is(err, loop.ErrNotUp) {
		return nil
	}
	return err
}

// drain lets the server run empty: whoever plays goes on, nobody new is taken,
// and /readyz says so to whatever directs players here. It ends with the process.
func (s *Server) drain(ctx context.Context, o Order) (Obeyed, error) {
	s.log.Info("draining", "on", o.On)
	s.house.draining.Store(o.On)
	return s.each("", func(k *keeper) (uint64, error) {
		err := k.brown(ctx)
		return uint64(k.Look(ctx).Gauges.LivePlayers), err
	})
}

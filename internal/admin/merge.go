package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"wamble"
	"wamble/internal/profile"
)

// mergePlayers carries out the command merge in each database that has both players.
func mergePlayers(ctx context.Context, h *Host, call *Call) (any, error) {
	a, err := h.arguments("merge", call)
	if err != nil {
		return nil, err
	}
	// Find both players in each database, and refuse before anything is merged.
	list := h.RunningProfiles()
	counts, done := Counts{}, map[string]bool{}
	var work []func() error
	for i := range list {
		p := &list[i]
		if done[p.Database] {
			continue
		}
		done[p.Database] = true
		from, err := p.player(ctx, a.named, list)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.Name, err)
		}
		into, err := p.player(ctx, a.into, list)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.Name, err)
		}
		switch {
		case from.Key.IsZero():
			continue
		case into.Key.IsZero():
			return nil, fmt.Errorf("%s has whom to merge, but not who stays", p.Database)
		case from.Key == into.Key:
			return nil, errors.New("both are the same player already")
		}
		work = append(work, func() error {
			before, after, err := p.Tell(ctx, &profile.Merge{From: from, Into: into})
			counts[p.Name] = after.Merged - before.Merged
			return err
		})
	}
	if len(work) == 0 {
		return nil, errPlayerNotFound
	}
	// Merge them.
	h.Log.Info("two players are merged", "whom", hideNamed(a.Whom), "into", hideNamed(a.Into))
	for _, do := range work {
		if err := do(); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// player returns a player of the profile's database: the totals from the store, the name from the memory of a
// profile that uses it. It is zero if there is none.
func (p *RunningProfile) player(ctx context.Context, n Named, list []RunningProfile) (wamble.Player, error) {
	list = slices.DeleteFunc(slices.Clone(list),
		func(other RunningProfile) bool { return other.Database != p.Database })
	var found Found
	for i := range list {
		var err error
		if found, err = list[i].Find(ctx, n); err != nil {
			return wamble.Player{}, err
		}
		if !found.Key.IsZero() {
			break
		}
	}
	if found.Key.IsZero() {
		return wamble.Player{}, nil
	}
	stored, err := p.Reader.Player(ctx, found.Key)
	for i := range list {
		key := &[2]wamble.PublicKey{found.Key, found.Key}
		if here, _ := list[i].Seek(ctx, profile.Seek{Key: key}, 1); len(here) > 0 {
			return wamble.Player{ID: here[0].Player, Key: found.Key, Handle: here[0].Handle, Stats: stored.Stats}, nil
		}
	}
	return stored, err
}

package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"wamble"
)

// playerSession is a session of a player, as the host sees it.
type playerSession struct {
	Profile  string           `json:"profile"` // of a dossier: where it is now, "" if nowhere
	Session  wamble.SessionID `json:"session"`
	Created  time.Time        `json:"created"`
	LastSeen time.Time        `json:"lastSeen"`
	Trust    int              `json:"trust"`
	Address  string           `json:"address,omitempty"` // while it is connected
	Host     string           `json:"host,omitempty"`    // where alone its token is good

	token wamble.TokenHash
}

// listSessions asks the store of each profile for the sessions of a player.
func listSessions(ctx context.Context, h *Host, c *Call) (any, error) {
	var a Arguments
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return nil, fmt.Errorf("not the arguments of a command: %w", err)
	}
	if err := h.findNamed(ctx, h.command("sessions"), &a); err != nil {
		return nil, err
	}
	if err := publicKey.Check(&a); err != nil {
		return nil, err
	}
	list, err := h.chosen(a.Profile)
	if err != nil {
		return nil, err
	}
	rows := []playerSession{}
	for i := range list {
		_, stored, _ := list[i].Stored(ctx, a.player.Key)
		for j := range stored {
			s := &stored[j]
			rows = append(rows, playerSession{Profile: list[i].Name, Session: s.ID, Created: s.Created.UTC(), LastSeen: s.LastSeen.UTC(), Trust: s.Trust, Host: s.Host})
		}
	}
	return rows, nil
}

func printSessions(w io.Writer, result any) error {
	rows := *result.(*[]playerSession)
	for _, r := range rows {
		_, err := fmt.Fprintf(w, "%s: session %d, since %s, last seen %s\n", r.Profile, r.Session, r.Created.Format(time.RFC3339), r.LastSeen.Format(time.RFC3339))
		if err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no session of this identity can be resumed")
		return err
	}
	return nil
}

// numbersOf returns the numbers of sessions.
func numbersOf(all []wamble.Session) []wamble.SessionID {
	var ids []wamble.SessionID
	for i := range all {
		ids = append(ids, all[i].ID)
	}
	return ids
}

// lookUpPlayer reads whom the store has under the key of the player, with his sessions, and
// reports whether there is one. The first profile of a database decides who it is: whoever
// comes while the others are told is somebody new.
func (p *Running) lookUpPlayer(ctx context.Context, a *Arguments) bool {
	id, sessions, ok := p.Stored(ctx, a.player.Key)
	if a.ids == nil {
		a.ids = map[string]wamble.PlayerID{}
	}
	if a.ids[p.Database] == 0 {
		a.ids[p.Database] = id
	}
	a.id = a.ids[p.Database]
	a.stored = slices.DeleteFunc(sessions, func(s wamble.Session) bool { return s.Player != a.id && a.id != 0 })
	return ok && (id == a.id || id == 0)
}

// lookUp reads the sessions of whom was found, and whose session it is. Without them the
// store stays right: the profile that is told has those in memory.
func (p *Running) lookUp(ctx context.Context, a *Arguments) {
	a.stored = nil
	if a.found.Session == 0 {
		_, a.stored, _ = p.Stored(ctx, a.found.Key)
		return
	}
	a.found.Key = p.keyOf(ctx, a.found.Session)
	if s, err := p.Reader.SessionByID(ctx, a.found.Session); err == nil {
		a.stored = []wamble.Session{s}
	}
}

package admin

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
	Profile  string           `json:"profile"` // in a dossier the profile that has it in memory, or ""
	Session  wamble.SessionID `json:"session"`
	Created  time.Time        `json:"created"`
	LastSeen time.Time        `json:"lastSeen"`
	Trust    int              `json:"trust"`
	Address  string           `json:"address,omitempty"` // while it is connected
	Host     string           `json:"host,omitempty"`    // the only host on which its token is valid

	token wamble.TokenHash
}

// listSessions carries out the command sessions: it reads the sessions of a player from the
// store of each profile.
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
	list, err := h.profilesOf(a.Profile)
	if err != nil {
		return nil, err
	}
	rows := []playerSession{}
	for i := range list {
		_, stored, _ := list[i].Stored(ctx, a.player.Key)
		for j := range stored {
			s := &stored[j]
			rows = append(rows, playerSession{
				Profile: list[i].Name, Session: s.ID, Created: s.Created.UTC(), LastSeen: s.LastSeen.UTC(),
				Trust: s.Trust, Host: s.Host,
			})
		}
	}
	return rows, nil
}

func printSessions(w io.Writer, result any) error {
	rows := *result.(*[]playerSession)
	for _, r := range rows {
		_, err := fmt.Fprintf(w, "%s: session %d, since %s, last seen %s\n", r.Profile, r.Session,
			r.Created.Format(time.RFC3339), r.LastSeen.Format(time.RFC3339))
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

// numbersOf returns the numbers of all sessions.
func numbersOf(all []wamble.Session) []wamble.SessionID {
	var ids []wamble.SessionID
	for i := range all {
		ids = append(ids, all[i].ID)
	}
	return ids
}

// lookUpPlayer reads the player of a key and their sessions from the store into a, and
// reports whether the store has them. For further profiles of the same database it keeps the
// identity that the first one found, so that a player who is created meanwhile is left alone.
func (p *RunningProfile) lookUpPlayer(ctx context.Context, a *Arguments) bool {
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

// lookUp reads the stored sessions of the player that was found into a, and the key of a
// found session. Errors are ignored: the profile has the sessions in memory.
func (p *RunningProfile) lookUp(ctx context.Context, a *Arguments) {
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

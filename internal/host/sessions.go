package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"wamble"
)

// playerSession is a session of a player, as the host sees it.
type playerSession struct {
	Profile  string           `json:"profile"`
	Session  wamble.SessionID `json:"session"`
	Created  time.Time        `json:"created"`
	LastSeen time.Time        `json:"lastSeen"`
}

// listSessions asks the store of each profile for the sessions of a player.
func listSessions(ctx context.Context, h *Host, c *Call) (any, error) {
	var a Arguments
	if err := json.Unmarshal(c.Args, &a); err != nil {
		return nil, fmt.Errorf("not the arguments of a command: %w", err)
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
		stored, _ := list[i].Stored(ctx, a.player.Key)
		for j := range stored {
			s := &stored[j]
			rows = append(rows, playerSession{list[i].Name, s.ID, s.Created.UTC(), s.LastSeen.UTC()})
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

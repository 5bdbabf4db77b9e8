package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"wamble"
	"wamble/internal/server"
	"wamble/internal/store"
)

func exportPlayerCommand() *cobra.Command {
	var flags storeFlags
	cmd := &cobra.Command{
		Use:   "export-player KEY|NAME",
		Short: "Write everything that is stored of a player",
		Long: `Export-player writes as JSON everything that the databases hold of a player: their
public key and name, counters and rating, sessions, boards, what each finished game
brought them, moves and predictions, and which terms they have accepted. It is what a
player may ask for; 'wamble erase' deletes it.

A player is named by public key (64 hex digits) or by name. Tokens are not
stored, only hashes of them, which are left out. What a server has acknowledged in the
last moments may still be on its way from the journal to the database.

The exit code is 1 if no database has such a player.`,
		Example: `  wamble export-player Ann
  wamble export-player 3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29`,
		Args: oneArg("a public key or a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			stores, err := flags.open(cmd, false)
			if err != nil {
				return err
			}
			defer server.CloseStores(stores)
			list := []exportedPlayer{}
			for _, s := range stores {
				if err := checkSchema(cmd.Context(), s); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
				p, err := exportPlayer(cmd.Context(), s, args[0])
				switch {
				case errors.Is(err, store.ErrNotFound):
				case err != nil:
					return fmt.Errorf("%s: %w", s.Name, err)
				default:
					list = append(list, p)
				}
			}
			if len(list) == 0 {
				return fmt.Errorf("no database has a player %s", args[0])
			}
			return printJSON(cmd.OutOrStdout(), list)
		},
	}
	flags.register(cmd)
	return cmd
}

// exportedPlayer is what one database has of a player.
type exportedPlayer struct {
	Database string              `json:"database"`
	Key      string              `json:"public_key"`
	Merged   []string            `json:"merged_keys"` // of players who were merged into this one
	Name     string              `json:"name"`
	Former   []wamble.FormerName `json:"former_names"`
	Created  time.Time           `json:"created"`
	Stats    wamble.Stats        `json:"stats"`
	Sessions []exportedSession   `json:"sessions"`
	Holds    []wamble.BoardID    `json:"holds"`
	Scores   []wamble.Score      `json:"scores"`
	Moves    []exportedMove      `json:"moves"`
	// Predictions has the player's guesses of moves. Terms has the accepted terms, by the
	// SHA-256 of their text.
	Predictions []exportedPrediction `json:"predictions"`
	Terms       []exportedAcceptance `json:"terms_accepted"`
	Explained   string               `json:"explained"`
}

type exportedSession struct {
	Number   wamble.SessionID `json:"number"`
	Created  time.Time        `json:"created"`
	LastSeen time.Time        `json:"last_seen"`
	Trust    int              `json:"trust"`
	Host     string           `json:"host,omitempty"`
}

type exportedMove struct {
	Board wamble.BoardID `json:"board"`
	Ply   int            `json:"ply"`
	UCI   string         `json:"uci"`
	At    time.Time      `json:"at"`
}

type exportedPrediction struct {
	Board  wamble.BoardID `json:"board"`
	Ply    int            `json:"ply"`
	UCI    string         `json:"uci"`
	Status string         `json:"status"`
	Points float64        `json:"points"`
	At     time.Time      `json:"at"`
}

type exportedAcceptance struct {
	Session wamble.SessionID `json:"session"`
	Profile string           `json:"profile"`
	Terms   string           `json:"terms"`
	At      time.Time        `json:"at"`
}

const (
	mostSessions = 1000
	scorePage    = 100
)

// exportPlayer reads all that a store has of a player, who is named by their key or handle.
// Errors: store.ErrNotFound.
func exportPlayer(ctx context.Context, s *server.SharedStore, whom string) (e exportedPlayer, err error) {
	// Find the player, by key or by handle.
	var key wamble.PublicKey
	if b, hexErr := hex.DecodeString(whom); hexErr == nil && len(b) == len(key) {
		key = wamble.PublicKey(b)
	} else {
		of, err := s.SessionByHandle(ctx, whom)
		if err != nil {
			return e, err
		}
		key = of.Key
	}
	p, err := s.Player(ctx, key)
	if err != nil {
		return e, err
	}
	key = p.Key // a merged player has the key of the other one
	merged, err := s.MergedKeys(ctx, key)
	if err != nil {
		return e, err
	}
	e = exportedPlayer{
		Database: s.Name, Key: hex.EncodeToString(key[:]), Name: p.Handle, Created: p.Created.UTC(), Stats: p.Stats,
		Merged: []string{}, Former: []wamble.FormerName{}, Sessions: []exportedSession{}, Holds: []wamble.BoardID{},
		Scores: []wamble.Score{}, Moves: []exportedMove{},
		Predictions: []exportedPrediction{}, Terms: []exportedAcceptance{},
		Explained: "Addresses are not stored, except where a token was bound to one (host of a session). What a server keeps beside its database is told in docs/operations.md.",
	}
	// Names, keys, sessions and reservations.
	former, err := s.FormerNames(ctx, key)
	if err != nil {
		return e, err
	}
	e.Former = append(e.Former, former...)
	for _, other := range merged {
		e.Merged = append(e.Merged, hex.EncodeToString(other[:]))
	}
	sessions, err := s.Sessions(ctx, key, mostSessions)
	if err != nil {
		return e, err
	}
	for _, row := range sessions {
		e.Sessions = append(e.Sessions,
			exportedSession{row.ID, row.Created.UTC(), row.LastSeen.UTC(), row.Trust, row.Host})
	}
	held, err := s.Reservations(ctx, key, time.Now())
	if err != nil {
		return e, err
	}
	for _, r := range held {
		e.Holds = append(e.Holds, r.Board)
	}
	// Scores and predictions, page by page.
	for q := (wamble.ScoreQuery{Player: p.ID, Limit: scorePage}); ; {
		page, err := s.Scores(ctx, q)
		if err != nil {
			return e, err
		}
		e.Scores = append(e.Scores, page...)
		if len(page) < scorePage {
			break
		}
		last := page[len(page)-1]
		q.Before, q.Board = last.At, last.Board
	}
	for after := wamble.PredictionID(0); ; {
		page, err := s.PredictionsOf(ctx, key, after, mostSessions)
		if err != nil {
			return e, err
		}
		for _, row := range page {
			e.Predictions = append(e.Predictions,
				exportedPrediction{row.Board, row.Ply, row.UCI, row.Status.String(), row.Points, row.At.UTC()})
			after = row.ID
		}
		if len(page) < mostSessions {
			break
		}
	}
	// Terms, and moves in all games.
	accepted, err := s.TermsOf(ctx, key)
	if err != nil {
		return e, err
	}
	for _, row := range accepted {
		e.Terms = append(e.Terms,
			exportedAcceptance{row.Session, row.Profile, hex.EncodeToString(row.Hash[:]), row.At.UTC()})
	}
	for b, err := range s.Games(ctx, wamble.GameFilter{}) {
		if err != nil {
			return e, err
		}
		for _, m := range b.Moves {
			if m.Handle == p.Handle {
				e.Moves = append(e.Moves, exportedMove{b.ID, m.Ply, m.UCI, m.At.UTC()})
			}
		}
	}
	return e, nil
}

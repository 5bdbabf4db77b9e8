package admin

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// banned is a ban in a list.
type banned struct {
	Profile string    `json:"profile"`
	Whom    string    `json:"whom"`
	Text    string    `json:"text,omitempty"`
	Until   time.Time `json:"until,omitzero"` // zero for ever
	By      string    `json:"by,omitempty"`   // "" if an older version stored the ban
	At      time.Time `json:"at,omitzero"`
}

// bansOf returns the bans that hold in each of the profiles.
func bansOf(list []RunningProfile) []banned {
	rows, now := []banned{}, time.Now()
	for _, p := range list {
		for _, b := range p.Restrictions.Bans() {
			if !b.isOver(now) {
				rows = append(rows, banned{p.Name, b.Whom, b.Text, b.Until, b.By, b.At})
			}
		}
	}
	return rows
}

func listBans(_ context.Context, h *Host, c *Call) (any, error) {
	a, err := h.arguments("bans", c)
	if err != nil {
		return nil, err
	}
	list, err := h.profilesOf(a.Profile)
	if err != nil {
		return nil, err
	}
	return bansOf(list), nil
}

func printBans(w io.Writer, result any) error {
	rows := *result.(*[]banned)
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "nobody is banned")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PROFILE\tWHO\tUNTIL\tBY\tSINCE\tWHY")
	for _, b := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", b.Profile, b.Whom, orElse(b.Until, "for ever"),
			orWord(b.By, "not known"), orElse(b.At, "not known"), b.Text)
	}
	return t.Flush()
}

// orElse returns a time as text, or word if it is zero.
func orElse(t time.Time, word string) string {
	if t.IsZero() {
		return word
	}
	return t.UTC().Format(time.RFC3339)
}

func orWord(text, word string) string {
	if text == "" {
		return word
	}
	return text
}

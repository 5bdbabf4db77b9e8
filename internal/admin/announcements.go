package admin

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"wamble/internal/profile"
	"wamble/wire"
)

// Announced is an announcement that stays until a time.
type Announced struct {
	profile.Standing
	By string    `json:",omitempty"` // who has ordered it
	At time.Time `json:",omitzero"`  // when it was ordered
}

// isOver reports whether the announcement has expired.
func (a *Announced) isOver(now time.Time) bool { return !now.Before(a.Until) }

// announce adds a command's announcement if it stays, or withdraws all.
func (r *Restricted) announce(a *Arguments, now time.Time) error {
	r.Announced = slices.DeleteFunc(r.Announced, func(x Announced) bool { return a.Clear || x.isOver(now) })
	if a.Clear || a.Until.IsZero() {
		return nil
	}
	if len(r.Announced)+len(r.globalAnnouncements) >= profile.MaxStanding {
		return fmt.Errorf("%d announcements stay already: withdraw them first ('wamble announce --clear')",
			profile.MaxStanding)
	}
	r.Announced = append(r.Announced, Announced{By: a.by, At: now.UTC(), Standing: profile.Standing{
		ID: now.UnixMicro(), Notice: noticeOf(a), Text: a.Text, Until: a.Until.UTC(), Countdown: a.Countdown,
	}})
	return nil
}

func noticeOf(a *Arguments) wire.NoticeType {
	if a.Urgent || a.Countdown {
		return wire.NoticeMaintenance
	}
	return wire.NoticeAnnouncement
}

// announcements returns the announcements that have not expired, first those of all profiles.
func (r *Restricted) announcements(now time.Time) []profile.Standing {
	all := []profile.Standing{}
	for _, a := range slices.Concat(r.globalAnnouncements, r.Announced) {
		if !a.isOver(now) {
			all = append(all, a.Standing)
		}
	}
	return all
}

// Announced returns the profile's own announcements, oldest first. They may have expired.
func (rs *Restrictions) Announced() []Announced {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.Clone(rs.current.Announced)
}

// announcements returns the announcements that stay in the profile now.
func (rs *Restrictions) announcements() []profile.Standing {
	everywhere, announced := rs.globalEntries()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.current.globalBans, rs.current.globalAnnouncements = everywhere, announced
	return rs.current.announcements(time.Now())
}

// announceInput returns a profile's input: an announcement that is sent once, or all that
// stay.
func announceInput(a *Arguments, r *Restrictions) profile.Input {
	if a.Clear || !a.Until.IsZero() {
		return &profile.SetStanding{All: r.announcements()}
	}
	return &profile.Announce{Notice: noticeOf(a), Text: a.Text}
}

// announced is an announcement in a list.
type announced struct {
	Profile     string    `json:"profile,omitempty"` // "" for all
	Text        string    `json:"text"`
	Maintenance bool      `json:"maintenance,omitempty"`
	Countdown   bool      `json:"countdown,omitempty"`
	Until       time.Time `json:"until"`
	By          string    `json:"by,omitempty"`
	At          time.Time `json:"at,omitzero"`
}

func listAnnouncements(_ context.Context, h *Host, c *Call) (any, error) {
	a, err := h.arguments("announcements", c)
	if err != nil {
		return nil, err
	}
	list, err := h.profilesOf(a.Profile)
	if err != nil {
		return nil, err
	}
	rows, now := []announced{}, time.Now()
	add := func(name string, all []Announced) {
		for _, x := range all {
			if !x.isOver(now) {
				rows = append(rows, announced{
					name, x.Text, x.Notice == wire.NoticeMaintenance, x.Countdown, x.Until, x.By, x.At,
				})
			}
		}
	}
	add("", h.Global.Announced())
	for _, p := range list {
		add(p.Name, p.Restrictions.Announced())
	}
	return rows, nil
}

func printAnnouncements(w io.Writer, result any) error {
	rows := *result.(*[]announced)
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no announcement stays")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PROFILE\tUNTIL\tKIND\tBY\tTEXT")
	for _, a := range rows {
		kind := "announcement"
		switch {
		case a.Countdown:
			kind = "countdown"
		case a.Maintenance:
			kind = "maintenance"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", orWord(a.Profile, "all"), orElse(a.Until, ""), kind,
			orWord(a.By, "not known"), a.Text)
	}
	return t.Flush()
}

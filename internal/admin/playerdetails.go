package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"text/tabwriter"
	"time"

	"wamble"
	"wamble/internal/profile"
)

// playerDetails has what a database, and the profiles that use it, know of one player or guest.
type playerDetails struct {
	person
	Renamed  time.Time           `json:"renamed,omitzero"` // when the name was chosen
	Names    []wamble.FormerName `json:"former_names"`
	Rank     int                 `json:"rank,omitempty"`   // by score
	Of       int                 `json:"ranked,omitempty"` // number of ranked players
	Sessions []playerSession     `json:"sessions"`
	Holds    []wamble.BoardID    `json:"holds"`
	Boards   []movedBoard        `json:"boards"` // with the player's last moves
	Bans     []banned            `json:"bans"`
	More     bool                `json:"more"` // not all sessions, boards or names are shown
}

// movedBoard is a board on which the player has moved.
type movedBoard struct {
	Board   wamble.BoardID `json:"board"`
	Profile string         `json:"profile"`
	Status  string         `json:"status"`
	At      time.Time      `json:"at"` // of the player's last move
}

// The most sessions, boards and former names of a dossier.
const (
	sessionsShown = 50
	movedShown    = 20
	namesShown    = 20
)

// errPlayerNotFound is returned when no database has the player.
var errPlayerNotFound = errors.New("no such player")

// showPlayer carries out the command player: it returns a dossier from each database that has
// the player.
func showPlayer(ctx context.Context, h *Host, call *Call) (any, error) {
	a, err := h.arguments("player", call)
	if err != nil {
		return nil, err
	}
	list, err := h.profilesOf(a.Profile)
	if err != nil {
		return nil, err
	}
	all, done := []playerDetails{}, map[string]bool{}
	for i := range list {
		p := &list[i]
		if done[p.Database] {
			continue
		}
		found, err := p.Find(ctx, a.named)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.Name, err)
		}
		if found == (Found{}) {
			continue
		}
		done[p.Database] = true
		same := slices.DeleteFunc(slices.Clone(list),
			func(other RunningProfile) bool { return other.Database != p.Database })
		d, err := p.playerDetails(ctx, found, same)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p.Name, err)
		}
		all = append(all, *d)
	}
	if len(all) == 0 {
		return nil, errPlayerNotFound
	}
	return all, nil
}

// playerDetails collects what the store and the profiles of one database know of a player.
func (p *RunningProfile) playerDetails(ctx context.Context, found Found,
	same []RunningProfile) (*playerDetails, error) {
	c := personSet{byKey: map[personKey]*person{}}
	if found.Key.IsZero() {
		found.Key = p.keyOf(ctx, found.Session)
	}
	q := wamble.PeopleQuery{Sessions: []wamble.SessionID{found.Session}, Limit: 1}
	seek := profile.Seek{Session: found.Session}
	if !found.Key.IsZero() {
		keys := &[2]wamble.PublicKey{found.Key, found.Key}
		q, seek = wamble.PeopleQuery{Key: keys, Limit: 1}, profile.Seek{Key: keys}
	}
	stored, err := p.Reader.People(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range stored {
		c.stored(p.Database, &stored[i])
	}
	d := &playerDetails{
		Names: []wamble.FormerName{}, Sessions: []playerSession{}, Holds: []wamble.BoardID{}, Boards: []movedBoard{},
		Bans: []banned{},
	}
	var memory []profile.Present
	for i := range same {
		here, more := same[i].Seek(ctx, seek, sessionsShown)
		d.More = d.More || more
		for j := range here {
			c.present(p.Database, same[i].Name, &here[j])
			if here[j].Board != 0 {
				d.Holds = append(d.Holds, here[j].Board)
			}
		}
		memory = append(memory, here...)
	}
	if len(c.order) == 0 {
		return nil, errPlayerNotFound
	}
	d.person = *c.byKey[c.order[0]]
	if err := d.read(ctx, p, found.Key, memory); err != nil {
		return nil, err
	}
	d.Bans = bansOn(bansOf(same), found.Key, d.Sessions, d.Here)
	return d, nil
}

// keyOf returns the key of a session's player; zero for a guest or an unknown session.
func (p *RunningProfile) keyOf(ctx context.Context, id wamble.SessionID) wamble.PublicKey {
	if here, _ := p.Seek(ctx, profile.Seek{Session: id}, 1); len(here) > 0 {
		return here[0].Key
	}
	s, _ := p.Reader.SessionByID(ctx, id) // zero after an error
	return s.Key
}

// read adds the sessions, boards and rank of a player from memory and the store.
func (d *playerDetails) read(ctx context.Context, p *RunningProfile, key wamble.PublicKey,
	memory []profile.Present) error {
	// What the store has of the player, or of a guest's session.
	var rows []wamble.Session
	if !key.IsZero() {
		var err error
		if rows, err = p.Reader.Sessions(ctx, key, sessionsShown+1); err != nil {
			return err
		}
		if stored, err := p.Reader.Player(ctx, key); err == nil { // an error may mean that the player is not stored yet
			d.Created, d.Renamed = stored.Created.UTC(), stored.Renamed
		}
		names, err := p.Reader.FormerNames(ctx, key)
		if err != nil {
			return err
		}
		d.More = d.More || len(names) > namesShown
		d.Names = append(d.Names, names[:min(len(names), namesShown)]...)
		held, err := p.Reader.Reservations(ctx, key, time.Now())
		if err != nil {
			return err
		}
		for _, r := range held {
			d.Holds = append(d.Holds, r.Board)
		}
	} else if s, err := p.Reader.SessionByID(ctx, d.Session); err == nil {
		rows = append(rows, s)
	}
	// Sessions, those in memory before stored ones, with their profile and address.
	known := map[wamble.SessionID]bool{}
	for i := range memory {
		s := &memory[i]
		if !known[s.Session] {
			known[s.Session] = true
			d.Sessions = append(d.Sessions, playerSession{
				Session: s.Session, Created: s.Created.UTC(), LastSeen: s.Seen.UTC(), Trust: s.Trust, token: s.Token,
			})
		}
	}
	for i := range rows {
		if s := &rows[i]; !known[s.ID] && !s.Token.IsZero() {
			d.Sessions = append(d.Sessions, playerSession{
				Session: s.ID, Created: s.Created.UTC(), LastSeen: s.LastSeen.UTC(), Trust: s.Trust, Host: s.Host,
				token: s.Token,
			})
		}
	}
	slices.SortFunc(d.Sessions, func(a, b playerSession) int { return b.LastSeen.Compare(a.LastSeen) })
	for i := range d.Sessions {
		for _, h := range d.Here {
			if s := &d.Sessions[i]; h.Session == s.Session {
				s.Profile, s.Address = h.Profile, cmp.Or(h.Address, s.Address)
			}
		}
	}
	slices.Sort(d.Holds)
	d.Holds = slices.Compact(d.Holds)
	d.More = d.More || len(d.Sessions) > sessionsShown
	d.Sessions = d.Sessions[:min(len(d.Sessions), sessionsShown)]
	// Boards and rank.
	trail, err := p.Reader.Trail(ctx, d.Session)
	if err != nil {
		return err
	}
	d.addBoards(&trail)
	ranks, err := p.Reader.Leaderboard(ctx, wamble.LeaderboardQuery{Limit: 1, Self: d.Session})
	if err != nil {
		return err
	}
	if ranks.Self != nil {
		d.Rank, d.Of = ranks.Self.Rank, ranks.Total
	}
	return nil
}

// addBoards adds the boards of a trail, ordered by the player's last move, latest first.
func (d *playerDetails) addBoards(trail *wamble.Trail) {
	for i := range trail.Boards {
		b := &trail.Boards[i]
		t := movedBoard{Board: b.ID, Profile: b.Profile, Status: b.Status.String()}
		for _, m := range b.Moves {
			if slices.Contains(trail.Sessions, m.Session) && m.At.After(t.At) {
				t.At = m.At.UTC()
			}
		}
		d.Boards = append(d.Boards, t)
	}
	slices.SortFunc(d.Boards, func(a, b movedBoard) int { return b.At.Compare(a.At) })
	d.More = d.More || len(d.Boards) > movedShown
	d.Boards = d.Boards[:min(len(d.Boards), movedShown)]
}

// bansOn returns the bans that exclude a player by their key, by the token of a session,
// or by a current address.
func bansOn(bans []banned, key wamble.PublicKey, sessions []playerSession, at []memorySession) []banned {
	return slices.DeleteFunc(bans, func(b banned) bool {
		whom, err := parsePlayer(b.Whom)
		switch {
		case err != nil:
			return true
		case !whom.Key.IsZero():
			return whom.Key != key
		case !whom.Token.IsZero():
			return !slices.ContainsFunc(sessions, func(s playerSession) bool { return s.token == whom.Token })
		}
		return !slices.ContainsFunc(at, func(h memorySession) bool {
			a, err := netip.ParseAddrPort(h.Address)
			return err == nil && whom.Net.Contains(a.Addr())
		})
	})
}

func printPlayerDetails(w io.Writer, result any) error {
	for i, d := range *result.(*[]playerDetails) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := d.print(w); err != nil {
			return err
		}
	}
	return nil
}

// print writes a dossier in aligned columns.
func (d *playerDetails) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "name\t%s\n", orWord(d.Name, "(guest)"))
	if d.Key != "" {
		fmt.Fprintf(t, "public key\t%s\n", d.Key)
	}
	fmt.Fprintf(t, "database\t%s\nsince\t%s\nlast seen\t%s\n", d.Database, d.Created.Format(time.RFC3339),
		d.Seen.Format(time.RFC3339))
	if !d.Renamed.IsZero() {
		fmt.Fprintf(t, "renamed\t%s\n", d.Renamed.Format(time.RFC3339))
	}
	for _, n := range d.Names {
		fmt.Fprintf(t, "was called\t%s, until %s\n", n.Name, n.Until.UTC().Format(time.RFC3339))
	}
	fmt.Fprintf(t, "score\t%g in %s\n", d.Score, counted(uint64(d.Games), "game"))
	if d.Key != "" {
		fmt.Fprintf(t, "rating\t%.0f\n", d.Rating)
	}
	if d.Rank > 0 {
		fmt.Fprintf(t, "rank\t%d of %d\n", d.Rank, d.Of)
	}
	for _, s := range d.Sessions {
		fmt.Fprintf(t, "session\t%d, trust %d, since %s, last seen %s", s.Session, s.Trust,
			s.Created.Format(time.RFC3339), s.LastSeen.Format(time.RFC3339))
		if s.Profile != "" {
			fmt.Fprintf(t, ", in %s", s.Profile)
		}
		if s.Address != "" {
			fmt.Fprintf(t, " from %s", s.Address)
		}
		fmt.Fprintln(t)
	}
	for _, b := range d.Holds {
		fmt.Fprintf(t, "holds\tboard %d\n", b)
	}
	for _, b := range d.Boards {
		fmt.Fprintf(t, "moved\tboard %d of %s (%s), %s\n", b.Board, b.Profile, b.Status, b.At.Format(time.RFC3339))
	}
	for _, b := range d.Bans {
		fmt.Fprintf(t, "banned\t%s, as %s, until %s, by %s: %s\n", b.Profile, b.Whom, orElse(b.Until, "lifted"),
			orWord(b.By, "somebody"), b.Text)
	}
	if d.More {
		fmt.Fprintln(t, "more\tnot all sessions, boards and names are shown")
	}
	return t.Flush()
}

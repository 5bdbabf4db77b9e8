package admin

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"wamble"
	"wamble/internal/profile"
)

// Reader has the queries about players that commands make to a profile's store.
type Reader interface {
	People(ctx context.Context, q wamble.PeopleQuery) ([]wamble.Person, error)
	Player(ctx context.Context, key wamble.PublicKey) (wamble.Player, error)
	FormerNames(ctx context.Context, key wamble.PublicKey) ([]wamble.FormerName, error)
	SessionByID(ctx context.Context, id wamble.SessionID) (wamble.Session, error)
	Sessions(ctx context.Context, key wamble.PublicKey, most int) ([]wamble.Session, error)
	Reservations(ctx context.Context, key wamble.PublicKey, now time.Time) ([]wamble.Reservation, error)
	Trail(ctx context.Context, id wamble.SessionID) (wamble.Trail, error)
	Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error)
}

// peopleShown is how many people one search shows.
const peopleShown = 50

// minPrefix is the least length of the beginning of a key in a search.
const minPrefix = 4

// search is a parsed search text: what to look for in memory, and queries for the store.
type search struct {
	seek    profile.Seek
	queries []wamble.PeopleQuery
}

// searchWords has the prefixes that restrict a search, as in "name:ann".
var searchWords = []string{"name", "key", "token", "address", "session", "board"}

// hasToken reports whether a token is looked for, or its hash.
func (s *search) hasToken() bool { return !s.seek.Token.IsZero() || !s.seek.Hash.IsZero() }

// parseSearch parses a search text: a name or part of it, the beginning of a public key, a
// token or the hash of one, an address or network, the number of a session or board. A part
// of a token is not looked for: who may ask often could guess the rest piece by piece.
func parseSearch(text string) (search, error) {
	var s search
	word, rest, restricted := strings.Cut(text, ":")
	if restricted = restricted && slices.Contains(searchWords, word); !restricted {
		word, rest = "", text
	}
	rest = strings.TrimSpace(rest)
	is := func(kind string) bool { return word == "" || word == kind }
	if whom, err := parsePlayer(rest); err == nil && whom.Net.IsValid() && is("address") {
		s.seek.Net = whom.Net
		return s, nil
	}
	if n, err := strconv.ParseInt(rest, 10, 64); err == nil && n > 0 {
		if is("session") {
			s.seek.Session = wamble.SessionID(n)
			s.queries = append(s.queries, wamble.PeopleQuery{Sessions: []wamble.SessionID{wamble.SessionID(n)}})
		}
		if is("board") {
			s.seek.Board = wamble.BoardID(n)
			s.queries = append(s.queries, wamble.PeopleQuery{Board: wamble.BoardID(n)})
		}
	}
	if keys := keysFrom(rest); keys != nil && is("key") {
		s.seek.Key = keys
		s.queries = append(s.queries, wamble.PeopleQuery{Key: keys})
	}
	if whom, err := parsePlayer(rest); err == nil && !whom.Token.IsZero() && is("token") {
		if s.seek.Token = parseToken(rest); s.seek.Token.IsZero() {
			s.seek.Hash = whom.Token
		}
		s.queries = append(s.queries, wamble.PeopleQuery{Token: &[2]wamble.TokenHash{whom.Token, whom.Token}})
	}
	if isName(rest) && len(rest) <= wamble.MaxName && is("name") {
		s.seek.Name = rest
		s.queries = append(s.queries, wamble.PeopleQuery{Name: rest})
	}
	// The text is not repeated: it may be a token.
	return s, unless(len(s.queries) > 0 || s.seek != profile.Seek{},
		"look for a name, the beginning of a public key (%d digits), a whole token or its hash, an address or "+
			"network, or the number of a session or board", minPrefix)
}

// isName reports whether a text is not empty and has only letters, digits, - and _.
func isName(text string) bool {
	return text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// keysFrom returns the first and the last key that begin with hex digits; nil if digits are
// not 4 to 64 hex digits.
func keysFrom(digits string) *[2]wamble.PublicKey {
	const whole = 2 * len(wamble.PublicKey{})
	if len(digits) < minPrefix || len(digits) > whole {
		return nil
	}
	var keys [2]wamble.PublicKey
	for i, fill := range []string{"0", "f"} {
		if _, err := hex.Decode(keys[i][:], []byte(digits+strings.Repeat(fill, whole-len(digits)))); err != nil {
			return nil
		}
	}
	return &keys
}

// people is the result of a search.
type people struct {
	People []person `json:"people"`
	More   bool     `json:"more"` // not all are shown
}

// person is a player or a guest in a database.
type person struct {
	Database string           `json:"database"`
	Name     string           `json:"name,omitempty"` // "" for a guest
	Key      string           `json:"public_key,omitempty"`
	Session  wamble.SessionID `json:"session,omitempty"` // the last one used
	Score    float64          `json:"score"`
	Rating   float64          `json:"rating,omitempty"`
	Games    int              `json:"games"`
	Created  time.Time        `json:"created"`
	Seen     time.Time        `json:"last_seen"`
	Here     []memorySession  `json:"here"`
}

// memorySession is a session in the memory of a profile.
type memorySession struct {
	Profile string           `json:"profile"`
	Session wamble.SessionID `json:"session"`
	Address string           `json:"address,omitempty"` // "" if it is not connected
	Board   wamble.BoardID   `json:"board,omitempty"`   // the board it holds; 0 if none
	Trust   int              `json:"trust"`
	Bot     bool             `json:"bot,omitempty"`
	Seen    time.Time        `json:"last_seen"`
}

// personKey identifies a player in a database by their key, or a guest by their session.
type personKey struct {
	database string
	key      wamble.PublicKey
	session  wamble.SessionID // 0 for a player
}

func personKeyOf(database string, key wamble.PublicKey, session wamble.SessionID) personKey {
	if !key.IsZero() {
		session = 0
	}
	return personKey{database, key, session}
}

// personSet collects the people who were found, without duplicates.
type personSet struct {
	byKey map[personKey]*person
	order []personKey
}

// add returns the row of a player or guest, a new one if there was none.
func (c *personSet) add(w personKey) *person {
	p := c.byKey[w]
	if p == nil {
		p = &person{Database: w.database, Session: w.session, Here: []memorySession{}}
		if !w.key.IsZero() {
			p.Key = hex.EncodeToString(w.key[:])
		}
		c.byKey[w] = p
		c.order = append(c.order, w)
	}
	return p
}

// present adds a session in memory, whose name takes precedence over that of stored rows.
func (c *personSet) present(database, profileName string, s *profile.Present) {
	p := c.add(personKeyOf(database, s.Key, s.Session))
	p.Name = cmp.Or(s.Handle, p.Name)
	if p.Created.IsZero() || s.Created.Before(p.Created) {
		p.Created = s.Created.UTC()
	}
	if s.Seen.After(p.Seen) {
		p.Seen, p.Session = s.Seen.UTC(), s.Session
	}
	p.Here = append(p.Here, memorySessionOf(profileName, s))
}

func memorySessionOf(profileName string, s *profile.Present) memorySession {
	h := memorySession{
		Profile: profileName, Session: s.Session, Board: s.Board, Trust: s.Trust, Bot: s.Bot, Seen: s.Seen.UTC(),
	}
	if s.Address.IsValid() {
		h.Address = netip.AddrPortFrom(s.Address.Addr().Unmap(), s.Address.Port()).String()
	}
	return h
}

// findPeople carries out the command players: a search in memory, and once in each database.
func findPeople(ctx context.Context, h *Host, call *Call) (any, error) {
	a, err := h.arguments("players", call)
	if err != nil {
		return nil, err
	}
	s := a.search
	list, err := h.profilesOf(a.Profile)
	if err != nil {
		return nil, err
	}
	// Search the memory of each profile, and each database once. Players in memory are also
	// read from the database, which has more of them.
	c, more := personSet{byKey: map[personKey]*person{}}, false
	asked := map[string]bool{}
	for i := range list {
		p := &list[i]
		found, some := p.Seek(ctx, s.seek, peopleShown)
		more = more || some
		queries := s.queries
		if asked[p.Database] {
			queries = nil
		}
		asked[p.Database] = true
		if len(found) > 0 {
			q := wamble.PeopleQuery{}
			for j := range found {
				q.Sessions = append(q.Sessions, found[j].Session)
			}
			queries = append(slices.Clone(queries), q)
		}
		for _, q := range queries {
			q.Limit = peopleShown + 1
			stored, err := p.Reader.People(ctx, q)
			if err != nil {
				return nil, err
			}
			more = more || len(stored) > peopleShown
			for j := range stored {
				c.stored(p.Database, &stored[j])
			}
		}
		for j := range found {
			c.present(p.Database, p.Name, &found[j])
		}
	}
	// Sort those with exactly this name first, then those in memory, then by last seen.
	out := people{People: []person{}}
	for _, w := range c.order {
		out.People = append(out.People, *c.byKey[w])
	}
	slices.SortStableFunc(out.People, func(x, y person) int {
		return cmp.Or(boolOrder(strings.EqualFold(y.Name, a.Query), strings.EqualFold(x.Name, a.Query)),
			boolOrder(len(y.Here) > 0, len(x.Here) > 0), y.Seen.Compare(x.Seen))
	})
	out.More = more || len(out.People) > peopleShown
	out.People = out.People[:min(len(out.People), peopleShown)]
	return out, nil
}

// boolOrder compares two booleans; false comes first.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// stored adds a row of the store.
func (c *personSet) stored(database string, s *wamble.Person) {
	p := c.add(personKeyOf(database, s.Key, s.Session))
	if len(p.Here) > 0 {
		return // memory is newer
	}
	p.Name, p.Session, p.Score, p.Rating, p.Games = s.Handle, s.Session, s.Score, s.Rating, s.Games
	p.Created, p.Seen = s.Created.UTC(), s.Seen.UTC()
}

// printPeople writes a table of people.
func printPeople(w io.Writer, result any) error {
	found := result.(*people)
	if len(found.People) == 0 {
		_, err := fmt.Fprintln(w, "nobody was found")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tKEY\tSESSION\tSCORE\tRATING\tGAMES\tLAST SEEN\tHERE")
	for _, p := range found.People {
		var at []string
		for _, h := range p.Here {
			text := h.Profile
			if h.Address != "" {
				text += " from " + h.Address
			}
			if h.Board != 0 {
				text += fmt.Sprintf(", board %d", h.Board)
			}
			at = append(at, text)
		}
		fmt.Fprintf(t, "%s\t%.12s\t%d\t%g\t%.0f\t%d\t%s\t%s\n", orWord(p.Name, "(guest)"), orWord(p.Key, "–"),
			p.Session, p.Score, p.Rating, p.Games,
			p.Seen.Format(time.RFC3339), strings.Join(at, "; "))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if found.More {
		_, err := fmt.Fprintf(w, "there are more: %d are shown, name them more exactly\n", len(found.People))
		return err
	}
	return nil
}

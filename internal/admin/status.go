package admin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"wamble"

	"wamble/internal/handoff"
)

// Status is the state of a server.
type Status struct {
	PID      int             `json:"pid"`
	Uptime   wamble.Seconds  `json:"uptime"`
	Config   string          `json:"config,omitempty"` // the configuration file; "" for the defaults
	Data     string          `json:"data"`
	Admin    string          `json:"admin,omitempty"`
	Journal  JournalStatus   `json:"journal"`
	Draining bool            `json:"draining"`
	Profiles []ProfileStatus `json:"profiles"`
	// Departing has the removed profiles whose journal is still being drained.
	Departing []Departing `json:"departing,omitempty"`
	// Parts has the holders of the journal's partitions, by index.
	Parts   []PartStatus    `json:"parts,omitempty"`
	Backups *BackupStatus   `json:"backups,omitempty"` // nil without backup-dir
	Reload  *Reloaded       `json:"last_reload,omitempty"`
	Handoff *handoff.Result `json:"last_handoff,omitempty"`
}

// JournalStatus is the state of the journal.
type JournalStatus struct {
	State       string `json:"state"`
	Durability  string `json:"durability"`
	DeadLetters uint64 `json:"dead_letters"`
}

// BackupStatus tells of the scheduled backups.
type BackupStatus struct {
	Dir  string    `json:"dir"`
	Last time.Time `json:"last,omitzero"`
	// Without has the profiles whose games are not in the backups, because they are in PostgreSQL.
	Without []string `json:"without,omitempty"`
}

func (b *BackupStatus) String() string {
	text := b.Dir + ", none yet"
	if !b.Last.IsZero() {
		text = b.Dir + ", the last of " + b.Last.Format(time.DateTime) + " UTC"
	}
	if len(b.Without) > 0 {
		text += "; NOT IN THEM are the games of " + strings.Join(b.Without, ", ") + ", in PostgreSQL"
	}
	return text
}

// ProfileStatus is the state of a profile.
type ProfileStatus struct {
	Name     string         `json:"name"`
	Ready    bool           `json:"ready"`
	Stage    string         `json:"stage"`
	UDP      string         `json:"udp"`
	HTTP     string         `json:"http"`
	Secure   bool           `json:"tls,omitempty"` // HTTP uses TLS
	Store    string         `json:"store"`
	Away     bool           `json:"store_away"`
	Trouble  string         `json:"store_trouble,omitempty"` // an error that only the host can end
	Boards   map[string]int `json:"boards"`
	Sessions int            `json:"sessions"`
	Present  int            `json:"sessions_present"`
	Moves    uint64         `json:"moves"`
	Depth    uint64         `json:"queue_depth"`
	Age      wamble.Seconds `json:"queue_age"`
	Failures int            `json:"failures"`                 // restarts of the profile since the start
	Shed     map[string]int `json:"datagrams_shed,omitempty"` // dropped datagrams by class, if there are any
	Brownout []string       `json:"brownout,omitempty"`
	Bans     int            `json:"bans,omitempty"`
	Shards   []ShardStatus  `json:"shards,omitempty"` // if there are several
}

// ShardStatus is the state of one of several shards of a profile.
type ShardStatus struct {
	Ready    bool           `json:"ready"`
	Stage    string         `json:"stage"`
	Open     bool           `json:"open"`           // it takes new players
	Away     bool           `json:"away,omitempty"` // it is not on this node; then only Stage is set
	Boards   int            `json:"boards"`
	Sessions int            `json:"sessions"`
	Present  int            `json:"sessions_present"`
	Moves    uint64         `json:"moves"`
	Depth    uint64         `json:"queue_depth"`
	Age      wamble.Seconds `json:"queue_age"`
}

// PartStatus is the holder of a partition of the journal.
type PartStatus struct {
	Node string `json:"node"` // "" if it has no holder
	Here bool   `json:"here"` // the holder is this node
}

// PartsText lists the partitions of each node.
func PartsText(parts []PartStatus) string {
	at := map[string][]string{}
	var nodes []string
	for i, p := range parts {
		node := cmp.Or(p.Node, "nobody")
		if p.Here {
			node += " (here)"
		}
		if at[node] == nil {
			nodes = append(nodes, node)
		}
		at[node] = append(at[node], fmt.Sprint(i))
	}
	sort.Strings(nodes)
	for i, node := range nodes {
		nodes[i] = node + ": " + strings.Join(at[node], " ")
	}
	return strings.Join(nodes, ", ")
}

// Departing is a removed profile whose journal is still being drained.
type Departing struct {
	Name  string         `json:"name"`
	Store string         `json:"store"`
	Depth uint64         `json:"queue_depth"`
	Age   wamble.Seconds `json:"queue_age"`
}

// Reloaded is the result of a reload.
type Reloaded struct {
	Time    time.Time      `json:"time"`
	Took    wamble.Seconds `json:"took"`
	Error   string         `json:"error,omitempty"` // "" if it was applied
	Changes []string       `json:"changes"`         // one line each
	// DryRun is the result of a dry run; nil otherwise.
	DryRun *DryRun `json:"foreseen,omitempty"`
}

// Ready reports whether all profiles serve players.
func (s Status) Ready() bool {
	for _, p := range s.Profiles {
		if !p.Ready {
			return false
		}
	}
	return len(s.Profiles) > 0
}

// stage returns the stage of the first profile, or the state of the journal.
func (s *Status) stage() string {
	if len(s.Profiles) == 0 {
		return s.Journal.State
	}
	return s.Profiles[0].Stage
}

// awaitReady returns the status of a server. With --wait it first waits until the server
// serves players.
func awaitReady(ctx context.Context, dir string, a *Arguments) (any, error) {
	return awaitStatus(ctx, dir, a, statusTime)
}

// statusTime bounds the answer to one status request.
const statusTime = 10 * time.Second

// awaitStatus is awaitReady with a time limit for the answer to each status request.
func awaitStatus(ctx context.Context, dir string, a *Arguments, answer time.Duration) (any, error) {
	const pause = 50 * time.Millisecond
	for end := time.Now().Add(a.wait); ; {
		s := &Status{}
		asking, cancel := context.WithTimeout(ctx, answer)
		err := Ask(asking, dir, "status", nil, s)
		cancel()
		if a.wait == 0 || err == nil && s.Ready() {
			if a.cluster && err == nil {
				return askClusterStatus(ctx, dir)
			}
			return s, err
		}
		if time.Now().After(end) {
			if err == nil {
				err = fmt.Errorf("the server on %s does not serve players yet: %s", dir, s.stage())
			}
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// printStatus prints a status in aligned columns.
func printStatus(w io.Writer, result any) error {
	if c, all := result.(*Cluster); all {
		return c.print(w)
	}
	s := result.(*Status)
	// The server.
	rows := []string{fmt.Sprintf("server\tpid %d, up %v", s.PID, s.Uptime.Duration())}
	if s.Config != "" {
		rows = append(rows, "config\t"+s.Config)
	}
	rows = append(rows,
		"data\t"+s.Data,
		fmt.Sprintf("journal\t%s, %s, %d dead letters", s.Journal.State, s.Journal.Durability, s.Journal.DeadLetters),
	)
	if len(s.Parts) > 0 {
		rows = append(rows, "parts\t"+PartsText(s.Parts))
	}
	if s.Admin != "" {
		rows = append(rows, "metrics\thttp://"+s.Admin+"/metrics")
	}
	if s.Draining {
		rows = append(rows, "draining\tnobody new is taken; 'wamble drain off' ends it")
	}
	if s.Backups != nil {
		rows = append(rows, "backups\t"+s.Backups.String())
	}
	rows = append(rows, "reload\t"+showReload(s.Reload), "handoff\t"+showHandoff(s.Handoff))
	// The profiles, with their shards.
	for _, p := range s.Profiles {
		store, scheme := p.Store, "http"
		if p.Secure {
			scheme = "https"
		}
		if p.Away {
			store += " (away)"
		}
		rows = append(rows,
			"profile\t"+p.Name+", "+p.Stage,
			fmt.Sprintf("  address\tudp %s, %s %s", p.UDP, scheme, p.HTTP),
			"  boards\t"+showCounts(p.Boards),
			fmt.Sprintf("  sessions\t%d, %d present", p.Sessions, p.Present),
			fmt.Sprintf("  moves\t%d since the start", p.Moves),
			fmt.Sprintf("  queue\t%d messages, the oldest %v", p.Depth, p.Age.Duration()),
			"  store\t"+store,
		)
		for i, k := range p.Shards {
			if k.Away {
				rows = append(rows, fmt.Sprintf("  shard %d\t%s", i, k.Stage))
				continue
			}
			open := "open"
			if !k.Open {
				open = "closed for new players"
			}
			rows = append(rows, fmt.Sprintf("  shard %d\t%s, %s, %d boards, %d sessions, %d present, %d moves, queue "+
				"%d", i, k.Stage, open, k.Boards, k.Sessions, k.Present, k.Moves, k.Depth))
		}
		if p.Trouble != "" {
			rows = append(rows, "  trouble\t"+p.Trouble)
		}
		if len(p.Shed) > 0 {
			rows = append(rows, "  shed\t"+showCounts(p.Shed)+
				" datagrams since the start: more came than could be processed")
		}
		if len(p.Brownout) > 0 {
			rows = append(rows, "  brown-out\t"+strings.Join(p.Brownout, ", "))
		}
		if p.Bans > 0 {
			rows = append(rows, fmt.Sprintf("  bans\t%d", p.Bans))
		}
		if p.Failures > 0 {
			rows = append(rows, fmt.Sprintf("  failures\t%d since the start", p.Failures))
		}
	}
	for _, d := range s.Departing {
		rows = append(rows, fmt.Sprintf("leaving\t%s: %d messages for %s, the oldest %v", d.Name, d.Depth, d.Store,
			d.Age.Duration()))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, row)
	}
	return t.Flush()
}

// showReload describes the last reload.
func showReload(r *Reloaded) string {
	switch {
	case r == nil:
		return "none since the start"
	case r.Error != "":
		return r.Time.Format(time.DateTime) + ", refused: " + r.Error
	}
	return fmt.Sprintf("%s, %s", r.Time.Format(time.DateTime), counted(uint64(len(r.Changes)), "change"))
}

// showHandoff describes the last handoff.
func showHandoff(h *handoff.Result) string {
	switch {
	case h == nil:
		return "none since the start"
	case h.Failure != "":
		return h.At.Format(time.DateTime) + ", given back: " + h.Failure
	}
	return fmt.Sprintf("%s, from %s to %s in %v", h.At.Format(time.DateTime), h.From, h.To, h.Frozen.Duration())
}

// showCounts returns counts as "active 3, dormant 5".
func showCounts(counts map[string]int) string {
	var parts []string
	for name, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", strings.ToLower(name), n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// printReloaded writes what a reload has changed, or would change.
func printReloaded(w io.Writer, result any) error {
	r := result.(*Reloaded)
	if r.DryRun != nil {
		return r.DryRun.print(w)
	}
	for _, c := range r.Changes {
		if _, err := fmt.Fprintln(w, c); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "reloaded in %v, %s\n", r.Took.Duration(), counted(uint64(len(r.Changes)), "change"))
	return err
}

// printHandoff writes the result of a handoff, or of its dry run.
func printHandoff(w io.Writer, result any) error {
	h := result.(*handoff.Result)
	if h.Preview != nil {
		return printPreview(w, h)
	}
	var phases []string
	for _, p := range h.Phases {
		phases = append(phases, fmt.Sprintf("%s %v", p.Name, p.Took.Round(10*time.Microsecond)))
	}
	_, err := fmt.Fprintf(w, "pid %d: %s took over from %s; nothing was read for %v (%s)\n",
		h.PID, h.To, h.From, h.Frozen.Duration(), strings.Join(phases, ", "))
	return err
}

// printPreview writes what a handoff would do.
func printPreview(w io.Writer, h *handoff.Result) error {
	for _, line := range h.Preview {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "pid %d: %s could take over from %s; nothing was changed\n", h.PID, h.To, h.From)
	return err
}

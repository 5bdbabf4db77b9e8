package server

import (
	"context"
	"errors"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/handoff"
	"wamble/internal/host"
	"wamble/internal/observe"
	"wamble/internal/store"
	"wamble/internal/transport"
)

// newHost makes the host.Host that carries out the host's commands on this server.
func (s *Server) newHost() (*host.Host, error) {
	everywhere, err := host.ReadRestrictions(s.runner, &s.house.draining)
	if s.placed() {
		everywhere, err = host.ShareRestrictions(standing{s}, &s.house.draining)
	}
	if err != nil {
		return nil, err
	}
	var parts func() []host.Part
	if s.placed() {
		parts = s.hostParts
	}
	tokens, err := host.ReadTokens(s.dir)
	return host.New(host.Server{
		Dir: s.dir, Log: s.log, Runner: s.runner, Parts: parts, Draining: &s.house.draining, Everywhere: everywhere, Tokens: tokens, Serving: s.serving,
		Running: s.running, Status: s.Status, Cluster: s.lookAround, Reload: s.Reload, Foresee: s.foresee, Options: s.effective, HandOff: s.handOffFor, Rehearse: s.rehearse, Repeated: s.repeated, Lines: s.tail, Panicked: s.caught, Hold: s.hold,
		History: func(days bool) any {
			if days {
				return s.history.Days()
			}
			return s.history.Hour()
		},
		Vitals: func(ctx context.Context) any { return observe.LookAt(ctx, s.runtimes()) },
	}), err
}

// hostParts returns the partitions of the journal and their holders, for commands.
func (s *Server) hostParts() []host.Part {
	list := make([]host.Part, s.parts())
	for i := range list {
		if p := s.partOf(i); p != nil {
			list[i].Runner = p.runner
		}
		list[i].Node, _, _ = s.places.owner(i)
	}
	return list
}

// Noted records a signal in the audit log and then calls do.
func (s *Server) Noted(signal, what string, do func() error) error {
	return s.host.Noted("signal "+signal, what, do)
}

// storedTime bounds a command's query to the store about a player.
const storedTime = 2 * time.Second

// storedSessions is how many sessions of a player a command reads from the store.
const storedSessions = 1000

// running returns the profiles that run, for commands.
func (s *Server) running() []host.Running {
	var list []host.Running
	for _, k := range s.supervisors() {
		list = append(list, host.Running{
			Name: k.name, Restrictions: k.restrictions, Tell: k.Tell,
			Present: func(ctx context.Context) int { return k.Look(ctx).Gauges.LivePlayers },
			Stored: func(ctx context.Context, key wamble.PublicKey) (id wamble.PlayerID, sessions []wamble.Session, ok bool) {
				k.settle(ctx)
				ctx, cancel := context.WithTimeout(ctx, storedTime)
				defer cancel()
				p, err := k.store.Player(ctx, key)
				if p.Key == key { // not the player into whom they were merged
					id = p.ID
				}
				rows, _ := k.store.Sessions(ctx, key, storedSessions) // an error is the same as no sessions
				return id, rows, !errors.Is(err, store.ErrNotFound)
			},
			Database: k.store.Name, Reader: k.store,
			Seek:   k.seek,
			Find:   k.find,
			Boards: k.findBoards,
		})
	}
	return list
}

// settle waits at most storedTime until the store has all that the profiles and shards that
// use it have decided.
func (k *supervisor) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storedTime)
	defer cancel()
	_ = k.store.Registry.AwaitOthers(ctx, nil) // without the store the command goes on
}

// find looks for a player in memory and then in the store. It returns a zero Found if there
// is none.
func (k *supervisor) find(ctx context.Context, n host.Named) (found host.Found, err error) {
	found = k.who(ctx, n)
	ctx, cancel := context.WithTimeout(ctx, storedTime)
	defer cancel()
	if found == (host.Found{}) && !n.Key.IsZero() {
		p, err := k.store.Player(ctx, n.Key)
		return host.Found{Key: p.Key}, notThere(err)
	}
	var s wamble.Session
	if found == (host.Found{}) && !n.Token.IsZero() {
		s, err = k.store.Session(ctx, n.Token)
		found.Session = s.ID
	}
	if found == (host.Found{}) && n.Session != 0 {
		s, err = k.store.SessionByID(ctx, n.Session)
		found.Session = s.ID
	}
	if found == (host.Found{}) && n.Handle != "" {
		s, err = k.store.SessionByHandle(ctx, n.Handle)
		found.Key = s.Key
	}
	return found, notThere(err)
}

// notThere returns err unless it is store.ErrNotFound.
func notThere(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// handOffFor hands over. The client that waits at the control socket or the console gets
// its answer from the next process.
func (s *Server) handOffFor(ctx context.Context, binary string, w host.Waiter) error {
	if w.Conn == nil {
		return s.handOff(ctx, binary, handoff.Report{Key: w.Key}, 1) // a request at the console whose connection HTTP keeps
	}
	report, err := transport.Duplicate(w.Conn)
	if err != nil {
		return err
	}
	return s.handOff(ctx, binary, handoff.Report{File: report, Web: w.Web, Key: w.Key}, 0)
}

// repeated returns the result of the handoff that started this process, if it was requested
// with that key; otherwise nil.
func (s *Server) repeated(ctx context.Context, key string) *handoff.Result {
	return s.successor.Repeated(ctx, key)
}

// openControl opens the control socket, or takes over the inherited one.
func (s *Server) openControl() error {
	c, err := s.host.OpenControl(s.inheritedControl())
	if err != nil {
		return err
	}
	s.control = c
	s.closers = append(s.closers, c.Close)
	return nil
}

// Examine checks for the doctor command whether a server could run well with a configuration
// and a data directory.
func Examine(ctx context.Context, c *config.Config, dir string) []host.Finding {
	who := host.Patient{Config: c, Dir: dir, Port: portOptions, Databases: databases}
	if clustered(c) {
		who.Journal = func(ctx context.Context) (string, bool, error) { return LookAtJournal(ctx, c) }
	}
	return host.Examine(ctx, who)
}

// databases opens the stores of profiles, for the doctor command.
func databases(profiles []*config.Profile, dir string) ([]host.Database, error) {
	stores, err := OpenStores(profiles, dir)
	var list []host.Database
	for _, s := range stores {
		list = append(list, host.Database{Name: s.Name, File: s.File, Store: s})
	}
	return list, err
}

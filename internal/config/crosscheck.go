package config

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"wamble/internal/lisp"
)

// crossCheck checks combinations of options: within one profile, between profiles that would
// run together, and of the server.
func (l *loader) crossCheck() {
	l.config.Rules = l.rules
	faulty := func(p *Profile) bool { return p.faulty }
	for _, p := range slices.DeleteFunc(append([]*Profile{l.config.Default}, l.config.Profiles...), faulty) {
		l.checkProfile(p)
	}
	running := slices.DeleteFunc(l.config.Running(), faulty)
	for i, p := range running {
		for _, earlier := range running[:i] {
			if l.Full() {
				return
			}
			l.checkPair(earlier, p)
		}
		l.checkAdmin(p)
		if l.config.Server.Journal == "postgres" && !p.Postgres() {
			l.Fail(l.blame(p, "db-host").Errorf("`journal` is postgres, but the profile %s keeps its games in SQLite, which no other machine has", p.Name).
				WithHint("set db-host or another option of the database"))
		}
	}
	if s := &l.config.Server; s.JournalPass != "" && s.JournalPassFile != "" {
		pos := l.config.origins[slices.Index(All(), Find("journal-db-pass-file"))].Pos
		l.Fail(pos.Errorf("`journal-db-pass` and `journal-db-pass-file` are both set").WithHint("remove one of them"))
	}
	if s := &l.config.Server; s.ClusterAddress != "" && s.Journal != "postgres" {
		pos := l.config.origins[slices.Index(All(), Find("cluster-address"))].Pos
		l.Fail(pos.Errorf("`cluster-address` needs a journal that other machines share").WithHint("(def journal \"postgres\") shares it; without other machines remove `cluster-address`"))
	}
	if s := &l.config.Server; s.Backups.Dir != "" && s.Journal == "postgres" {
		pos := l.config.origins[slices.Index(All(), Find("backup-dir"))].Pos
		l.Warn(pos.Errorf("`backup-dir` has no effect: the journal is in PostgreSQL, whose own tools back it up").WithHint("see 'Back up and restore' in the manual, and remove `backup-dir`"))
	}
	l.checkScopes()
}

// defined returns the position of the first definition among the options.
func (l *loader) defined(p *Profile, options ...string) lisp.Pos {
	for _, option := range options {
		if pos := p.Origin(Find(option)).Pos; !pos.IsZero() {
			return pos
		}
	}
	return l.source.At(0)
}

// blame returns the position for an error between p and another profile: that of the first of
// the options that p itself defines, or of its name.
func (l *loader) blame(p *Profile, options ...string) lisp.Pos {
	for _, option := range options {
		if from := p.Origin(Find(option)); from.Kind == FromProfile {
			return from.Pos
		}
	}
	if p.pos.IsZero() {
		return l.defined(p, options...)
	}
	return p.pos
}

func (l *loader) set(p *Profile, option string) bool {
	return p.Origin(Find(option)).Kind != FromDefault
}

// checkProfile checks pairs of options of one profile.
func (l *loader) checkProfile(p *Profile) {
	if p.Boards.MinBoards > p.Boards.MaxBoards {
		l.Fail(l.defined(p, "min-boards",
			"max-boards").Errorf("`min-boards` is %d, more than `max-boards`, which is %d", p.Boards.MinBoards,
			p.Boards.MaxBoards))
	}
	if n := p.Boards.Shards; n&(n-1) != 0 {
		l.Fail(l.defined(p, "shards").Errorf("`shards` is %d, which is not a power of two",
			n).WithHint("write 1, 2, 4, 8, 16, 32 or 64"))
	}
	if p.Link.Timeout > p.Link.RTOCap {
		l.Fail(l.defined(p, "timeout-ms",
			"rto-cap-ms").Errorf("`timeout-ms` is %d, more than `rto-cap-ms`, which is %d",
			p.Link.Timeout.Milliseconds(), p.Link.RTOCap.Milliseconds()))
	}
	if n := p.Network; n.HTTPPort > 0 && n.WebSocketEnabled && n.WebSocketPort > 0 && n.HTTPPort != n.WebSocketPort {
		l.Fail(l.defined(p, "websocket-port").Errorf("`websocket-port` is %d, but WebSocket and HTTP share one port, and `http-port` is %d", n.WebSocketPort, n.HTTPPort).
			WithHint("remove one of them"))
	}
	switch cert, key := p.Network.TLSCert, p.Network.TLSKey; {
	case cert != "" && key == "":
		l.Fail(l.defined(p, "tls-cert").Errorf("`tls-cert` needs `tls-key` beside it"))
	case cert == "" && key != "":
		l.Fail(l.defined(p, "tls-key").Errorf("`tls-key` needs `tls-cert` beside it"))
	}
	if n := p.Network; n.Domain != "" && n.TLSCert != "" {
		l.Fail(l.defined(p, "tls-cert").Errorf("`domain` and `tls-cert` are both set").WithHint("with `domain` the server gets its certificate by itself; remove one of them"))
	}
	if n := p.Network; !n.UDPEnabled && !n.WebSocketEnabled {
		l.Fail(l.defined(p, "udp-enabled",
			"websocket-enabled").Errorf("`udp-enabled` and `websocket-enabled` are both 0: nobody could play"))
	}
	if l.set(p, "db-pass") && p.Database.Pass != "" && p.Database.PassFile != "" {
		l.Fail(l.defined(p, "db-pass-file").Errorf("`db-pass` and `db-pass-file` are both set").WithHint("remove one of them"))
	}
}

// checkPair checks that two profiles can run in one process.
func (l *loader) checkPair(a, b *Profile) {
	udp, _ := b.Network.UDPPort()
	theirs, _ := a.Network.UDPPort()
	mine, other := b.Network.tcpPort(), a.Network.tcpPort()
	switch {
	case !overlap(a, b):
	case udp != 0 && udp == theirs:
		// Their TCP ports are usually the same as well; one error is enough.
		l.Fail(l.blame(b, "port").Errorf("the profiles `%s` and `%s` have the same UDP port %d", a.Name, b.Name, udp).
			WithHint("give `%s` a port of its own", b.Name))
	case mine.port != 0 && mine.port == other.port:
		l.Fail(l.blame(b, mine.option,
			"port").Errorf("the profiles `%s` and `%s` have the same TCP port %d (`%s` and `%s`)", a.Name, b.Name,
			mine.port, other.option, mine.option))
	}
	if a.Store.Isolated && b.Store.Isolated && a.Postgres() && b.Postgres() && database(a) == database(b) {
		l.Fail(l.blame(b, "db-name", "db-host",
			"db-isolated").Errorf("the profiles `%s` and `%s` are both `db-isolated` and use the same database %s",
			a.Name, b.Name, database(b)).
			WithHint("give `%s` a `db-name` of its own", b.Name))
	}
}

// overlap reports whether both profiles listen on a common address.
func overlap(a, b *Profile) bool {
	x, y := a.Network.ListenAddress, b.Network.ListenAddress
	return everywhere(x) || everywhere(y) || x == y
}

func everywhere(address string) bool {
	return address == "" || netip.MustParseAddr(address).IsUnspecified()
}

// database returns the hosts and the name of a profile's PostgreSQL database, regardless of
// its user.
func database(p *Profile) string {
	hosts := strings.Split(p.Database.Host, ",")
	for i, host := range hosts {
		hosts[i] = strings.TrimSpace(host)
		if _, _, err := net.SplitHostPort(hosts[i]); err != nil { // without a port
			hosts[i] += ":" + strconv.Itoa(p.Database.TCPPort())
		}
	}
	return strings.Join(hosts, ",") + "/" + p.Database.Name
}

// checkAdmin checks that the admin listener has another port than p, and warns if it is not on
// loopback.
func (l *loader) checkAdmin(p *Profile) {
	admin, err := netip.ParseAddrPort(l.config.Server.AdminListen)
	if err != nil {
		return // off, or reported already
	}
	at := l.adminAt()
	if !admin.Addr().IsLoopback() {
		l.Warn(at.Errorf("the admin listener on %s can be reached from other machines",
			admin).WithHint("keep it on 127.0.0.1 and reach it through a tunnel"))
	}
	address, t := p.Network.ListenAddress, p.Network.tcpPort()
	if t.port == int(admin.Port()) && t.port != 0 &&
		(everywhere(address) || admin.Addr().IsUnspecified() || address == admin.Addr().String()) {
		l.Fail(l.blame(p, t.option, "port").Errorf("the profile `%s` has the TCP port %d of `admin-listen`", p.Name,
			t.port).
			WithHint("(def admin-listen \"127.0.0.1:PORT\") moves the admin listener"))
	}
}

func (l *loader) adminAt() lisp.Pos {
	if b := l.Global.Own("admin-listen"); b != nil {
		return b.ValueAt
	}
	return l.source.At(0)
}

// checkScopes warns about rules for profiles and groups that do not exist.
func (l *loader) checkScopes() {
	var groups []string
	for _, p := range l.config.Profiles {
		groups = append(groups, p.Standing.ProfileGroup)
	}
	names := append(l.profileNames(), DefaultName)
	for i, r := range l.rules {
		if l.Quiet(l.ruleAt[i]) {
			continue
		}
		if name := r.Scope.Profile; name != "" && !slices.Contains(names, name) {
			l.Warn(l.ruleAt[i].Errorf("there is no profile `%s` for this rule", name).Suggest(name, names))
		}
		if name := r.Scope.Group; name != "" && !slices.Contains(groups, name) {
			l.Warn(l.ruleAt[i].Errorf("there is no profile with the `profile-group` %s for this rule",
				lisp.Quote(name)).Suggest(name, groups))
		}
	}
}

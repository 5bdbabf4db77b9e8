package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"wamble/internal/config"
	"wamble/internal/store"
	"wamble/internal/store/schema"
	"wamble/internal/transport"
)

// Severity is how serious a finding of the doctor is.
type Severity int

// The closed list of verdicts.
const (
	SeverityOK Severity = iota
	SeverityWarning
	SeverityError
)

var severityNames = [...]string{"ok", "warn", "fail"}

func (v Severity) String() string { return severityNames[v] }

// MarshalText encodes a verdict as its name.
func (v Severity) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Finding is the result of one check, with advice.
type Finding struct {
	Subject string   `json:"subject"`
	Verdict Severity `json:"verdict"`
	Text    string   `json:"text"`
	Advice  string   `json:"advice,omitempty"`
}

// DoctorOptions is what the doctor checks: a configuration and a data directory.
type DoctorOptions struct {
	Config *config.Config
	Dir    string
	// Port returns the addresses and limits of a profile's port.
	Port func(*config.Profile) transport.Options
	// Databases opens the stores of profiles. The doctor closes them.
	Databases func(profiles []*config.Profile, dir string) ([]Database, error)
	// Journal queries the database of a journal in PostgreSQL: where it is, and whether it
	// has a synchronous standby. It is nil if the journal is on local disk.
	Journal func(ctx context.Context) (where string, replicated bool, err error)
}

// Database is a store of profiles.
type Database struct {
	Name  string // for people
	File  string // of SQLite; "" for PostgreSQL
	Store interface {
		Status(ctx context.Context) (schema.Status, error)
		io.Closer
	}
}

// databaseTime bounds a query to a database.
const databaseTime = 10 * time.Second

// diagnosis is a run of the checks, with the findings so far.
type diagnosis struct {
	DoctorOptions
	ctx      context.Context
	profiles []*config.Profile
	running  bool // a server runs on the directory
	findings []Finding
}

// add adds a finding. Advice is dropped if the verdict is Fine.
func (p *diagnosis) add(v Severity, subject, advice, format string, args ...any) {
	if v == SeverityOK {
		advice = ""
	}
	p.findings = append(p.findings, Finding{subject, v, fmt.Sprintf(format, args...), advice})
}

// diagnoses is the list of all checks.
var diagnoses = []func(*diagnosis){
	(*diagnosis).directory, (*diagnosis).disk, (*diagnosis).ports, (*diagnosis).listeners,
	(*diagnosis).buffers, (*diagnosis).files, (*diagnosis).clock, (*diagnosis).databases, (*diagnosis).journal,
	(*diagnosis).secrets, (*diagnosis).encryption, (*diagnosis).logins, (*diagnosis).engines,
}

// Examine checks whether a server could run well. It binds sockets and writes a small file
// for a moment, and changes nothing.
func Examine(ctx context.Context, who DoctorOptions) []Finding {
	p := &diagnosis{DoctorOptions: who, ctx: ctx, profiles: who.Config.Running()}
	p.running = Ask(ctx, p.Dir, "status", nil, new(Status)) == nil
	for _, look := range diagnoses {
		look(p)
	}
	return p.findings
}

// directory checks that the data directory can be made or written, and is readable by its
// owner alone.
func (p *diagnosis) directory() {
	info, err := os.Stat(p.Dir)
	wrong := tryWrite(nearest(p.Dir))
	switch {
	case errors.Is(err, os.ErrNotExist) && wrong != nil:
		p.add(SeverityError, "data directory", fmt.Sprintf("as root: install -d -m 0700 -o %s %s", userName(), p.Dir),
			"%s is not there and cannot be made: %v", p.Dir, wrong)
	case errors.Is(err, os.ErrNotExist):
		p.add(SeverityOK, "data directory", "", "%s is made at the first start", p.Dir)
	case errors.Is(cmp.Or(err, wrong), os.ErrPermission):
		p.add(SeverityError, "data directory", fmt.Sprintf("as root: chown -R %s %s", userName(), p.Dir), "%v",
			cmp.Or(err, wrong))
	case err != nil || wrong != nil:
		p.add(SeverityError, "data directory", "let the user who runs the server own and write it", "%v",
			cmp.Or(err, wrong))
	case info.Mode().Perm()&0o077 != 0:
		p.add(SeverityWarning, "data directory", "chmod 700 "+p.Dir, "others may look into %s (mode %v)", p.Dir,
			info.Mode().Perm())
	default:
		p.add(SeverityOK, "data directory", "", "%s", p.Dir)
	}
}

// nearest returns the directory, or the nearest one above it that exists.
func nearest(dir string) string {
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// tryWrite makes a file in a directory for a moment.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".wamble-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// userName returns the name of the user of this process, or the number.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return fmt.Sprint(os.Geteuid())
	}
	return u.Username
}

// slowFsync is the median time of an fsync above which players notice the disk.
const slowFsync = 20 * time.Millisecond

// disk checks the free space and the time of an fsync in the data directory.
func (p *diagnosis) disk() {
	dir := nearest(p.Dir)
	free, err := freeSpace(dir)
	reserve := uint64(p.Config.Server.DiskReserve) << 20
	switch advice := "make room, or lower disk-reserve-mb"; {
	case err != nil:
		p.add(SeverityWarning, "disk space", advice, "%v", err)
	case free < reserve:
		p.add(SeverityError, "disk space", advice, "%d MB are free, but disk-reserve-mb is %d: no move would be taken",
			free>>20, reserve>>20)
	case free < 4*reserve:
		p.add(SeverityWarning, "disk space", advice, "%d MB are free; below %d MB no move is taken", free>>20,
			reserve>>20)
	default:
		p.add(SeverityOK, "disk space", "", "%d MB are free", free>>20)
	}
	took, err := fsyncTime(dir)
	switch advice := "use another disk, or (def durability \"write\") if a loss of power may cost moves"; {
	case err != nil:
		p.add(SeverityError, "fsync", "let the user who runs the server write there", "%v", err)
	case took > slowFsync && p.Config.Server.Durability == "fsync":
		p.add(SeverityWarning, "fsync", advice, "%v in the middle: every answer waits for it",
			took.Round(10*time.Microsecond))
	default:
		p.add(SeverityOK, "fsync", "", "%v in the middle", took.Round(10*time.Microsecond))
	}
}

// fsyncTime returns the median time of 15 appends of 4 KB with fsync.
func fsyncTime(dir string) (time.Duration, error) {
	f, err := os.CreateTemp(dir, ".wamble-doctor-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	block := make([]byte, 4096)
	var took []time.Duration
	for range 15 {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// ports checks by binding that every port is free.
func (p *diagnosis) ports() {
	for _, cfg := range p.profiles {
		subject := "ports of " + cfg.Name
		port, err := transport.Listen(p.Port(cfg))
		switch {
		case err == nil:
			port.Close()
			udp := fmt.Sprintf("UDP %d and ", port.Addr().Port())
			if !cfg.Network.UDPEnabled {
				udp = "UDP is off, "
			}
			p.add(SeverityOK, subject, "", "%sTCP %d are free", udp, port.TCPAddr().Port())
		case p.running && errors.Is(err, syscall.EADDRINUSE):
			p.add(SeverityOK, subject, "", "in use, as a server runs on %s", p.Dir)
		case errors.Is(err, syscall.EACCES):
			p.add(SeverityError, subject, lowPort, "%v", err)
		default:
			p.add(SeverityError, subject, "choose another port, or end who has it ('ss -lntup' tells)", "%v", err)
		}
	}
}

const lowPort = "use a port above 1023, or let the unit have AmbientCapabilities=CAP_NET_BIND_SERVICE, or " +
	"wamble.socket bind it"

// listeners checks by binding that the admin listener and the redirect-port are free.
func (p *diagnosis) listeners() {
	c := &p.Config.Server
	p.listener("admin listener", c.AdminListen, "set admin-listen to another address, or to \"\"")
	looked := map[string]bool{}
	for _, cfg := range p.profiles {
		at := net.JoinHostPort(cfg.Network.ListenAddress, strconv.Itoa(c.RedirectPort))
		if cfg.Network.Domain == "" || c.RedirectPort == 0 || looked[at] {
			continue
		}
		looked[at] = true
		p.listener("redirect-port", at, "choose another redirect-port, or 0, if the certificate authority reaches "+
			"port 443")
	}
}

// listener checks by binding that a TCP address is free. It ignores "".
func (p *diagnosis) listener(subject, address, advice string) {
	if address == "" {
		return
	}
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		l.Close()
		p.add(SeverityOK, subject, "", "%s is free", address)
	case p.running && errors.Is(err, syscall.EADDRINUSE):
		p.add(SeverityOK, subject, "", "in use, as a server runs on %s", p.Dir)
	case errors.Is(err, syscall.EACCES):
		p.add(SeverityError, subject, lowPort, "%v", err)
	default:
		p.add(SeverityError, subject, advice, "%v", err)
	}
}

// wantedBuffer is the default UDP receive buffer in bytes. It holds about what arrives at
// full load during a handoff.
const wantedBuffer = 4 << 20

// buffers checks that the kernel grants the UDP receive buffer of each profile.
func (p *diagnosis) buffers() {
	for _, cfg := range p.profiles {
		if !cfg.Network.UDPEnabled {
			continue
		}
		o := p.Port(cfg)
		probe, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"), o.UDP)
		if err != nil {
			p.add(SeverityWarning, "receive buffer", "", "%v", err)
			return
		}
		granted, _, err := probe.Buffers()
		probe.Close()
		granted /= 2 // the kernel reports twice the usable size
		want := cfg.Network.BufferSize
		if want == 0 {
			want = wantedBuffer
		}
		subject, most := "receive buffer of "+cfg.Name, max(want, wantedBuffer)
		advice := fmt.Sprintf("sysctl -w net.core.rmem_max=%d net.core.wmem_max=%d", most, most)
		switch {
		case err != nil:
			p.add(SeverityWarning, subject, advice, "%v", err)
		case granted < want:
			p.add(SeverityWarning, subject, advice,
				"the kernel grants %d KB; %d KB are wanted, so that bursts and handoffs lose nothing", granted>>10,
				want>>10)
		default:
			p.add(SeverityOK, subject, "", "%d KB", granted>>10)
		}
	}
}

// files checks that the limit of open files suffices for http-max-connections.
func (p *diagnosis) files() {
	const own = 512 // for journal, stores and sockets
	need := own
	for _, cfg := range p.profiles {
		need += cfg.Network.HTTPMaxConnections
	}
	limit, err := fileLimit()
	switch advice := fmt.Sprintf("LimitNOFILE=%d in the unit file, or ulimit -n %d", need, need); {
	case err != nil:
		p.add(SeverityWarning, "open files", advice, "%v", err)
	case limit < uint64(need):
		p.add(SeverityWarning, "open files", advice,
			"%d are allowed; %d may be needed (http-max-connections of all profiles)", limit, need)
	case limit == math.MaxUint64:
		p.add(SeverityOK, "open files", "", "no limit")
	default:
		p.add(SeverityOK, "open files", "", "%d are allowed", limit)
	}
}

// earliestTime is a time before which no correct clock runs this program.
var earliestTime = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// clock checks that a time service synchronizes the clock.
func (p *diagnosis) clock() {
	synced, err := clockSynced()
	switch advice := "run a time service such as chrony or systemd-timesyncd"; {
	case time.Now().Before(earliestTime):
		p.add(SeverityError, "clock", advice, "it says %s", time.Now().UTC().Format(time.DateTime))
	case err != nil:
		p.add(SeverityWarning, "clock", advice, "the kernel does not tell whether it is synchronized: %v", err)
	case !synced:
		p.add(SeverityWarning, "clock", advice, "it is not synchronized; times of games may be wrong")
	default:
		p.add(SeverityOK, "clock", "", "synchronized")
	}
}

// logins warns if a hostile server could relay logins to this one.
func (p *diagnosis) logins() {
	for _, cfg := range p.profiles {
		subject := "logins of " + cfg.Name
		names := strings.Join(cfg.LoginNames(), " ")
		switch {
		case names == "":
			p.add(SeverityWarning, subject, fmt.Sprintf(`(def login-servers "%s"), the names by which players reach `+
				`this server`, certificateNames(cfg)),
				"still open: no name of this server is set (login-servers, domain), so a login that was signed for any "+
					"other server is accepted here, and a hostile one can hand it on")
		case cfg.Sessions.LoginLegacy:
			p.add(SeverityWarning, subject, "(def login-legacy 0), unless players use clients of the original",
				"still open: a login signed for %s cannot be handed on, but one that names no server can, as clients of "+
					"the original make it (login-legacy)", names)
		default:
			p.add(SeverityOK, subject, "", "nothing is open: only logins that were signed for %s are accepted", names)
		}
	}
}

// certificateNames returns the names in the certificate of a profile, or an example.
func certificateNames(cfg *config.Profile) string {
	if c, err := Certificate(&cfg.Network); err == nil && c != nil && len(c.Leaf.DNSNames) > 0 {
		return strings.Join(c.Leaf.DNSNames, " ")
	}
	return "chess.example.org"
}

// engines checks that the configured engines of house bots exist.
func (p *diagnosis) engines() {
	for _, cfg := range p.profiles {
		words := strings.Fields(cfg.Sessions.HouseBotEngine)
		if cfg.Sessions.HouseBots == 0 || len(words) == 0 {
			continue
		}
		if path, err := exec.LookPath(words[0]); err != nil {
			p.add(SeverityWarning, "house-bot-engine of "+cfg.Name,
				"install the engine, and name it with its whole path, as in /usr/games/stockfish",
				"%v: the built-in player would play", err)
		} else {
			p.add(SeverityOK, "house-bot-engine of "+cfg.Name, "", "%s", path)
		}
	}
}

// sslModes describes what each db-sslmode protects against.
var sslModes = map[string]string{
	"disable": "nothing is encrypted: whoever is on the way reads the password and the tokens of players, and " +
		"can change them",
	"allow": "encrypted only if the server insists: whoever is on the way can switch it off, read and change " +
		"everything",
	"prefer": "encrypted if the server offers it: whoever is on the way can switch it off, read and change " +
		"everything",
	"require": "encrypted, so that nobody reads along; but the server is not checked, and whoever is on the way " +
		"can pose as it",
	"verify-ca": "encrypted, and the server has a certificate of an authority we trust; another one of its servers " +
		"can pose as ours",
	"verify-full": "encrypted, and the server has proved its name: nobody on the way reads, changes or poses as it",
}

// encryption explains db-sslmode, and warns if a connection leaves the machine and the
// server's certificate is not verified.
func (p *diagnosis) encryption() {
	for _, cfg := range p.profiles {
		if !cfg.Postgres() {
			continue
		}
		subject, mode := "db-sslmode of "+cfg.Name, cfg.Database.SSLMode
		switch {
		case leavesMachine(cfg.Database.Host) && mode != "verify-full" && mode != "verify-ca":
			p.add(SeverityWarning, subject,
				`(def db-sslmode "verify-full"), with the authority's certificate in PGSSLROOTCERT or ~/.postgresql/root.crt`,
				"%s to %s: %s", mode, cfg.Database.Host, sslModes[mode])
		case leavesMachine(cfg.Database.Host):
			p.add(SeverityOK, subject, "", "%s: %s", mode, sslModes[mode])
		default:
			p.add(SeverityOK, subject, "", "%s; the connection to %s does not leave the machine", mode,
				cfg.Database.Host)
		}
	}
}

// unreachable adds an error of a database: its own advice if only the host can mend it, with which a start
// ends; otherwise a start waits.
func (p *diagnosis) unreachable(subject, advice, where string, err error) {
	if wrong, ok := errors.AsType[*store.Unusable](err); ok {
		p.add(SeverityError, subject, wrong.Advice+"; the server does not start", "%s: %v", where, wrong.Err)
		return
	}
	p.add(SeverityError, subject, advice+"; the server would wait for it", "%s: %v", where, err)
}

// leavesMachine reports whether a db-host, which may be a list, has a host other than a unix
// socket's directory or this machine.
func leavesMachine(hosts string) bool {
	for host := range strings.SplitSeq(hosts, ",") {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		addr, err := netip.ParseAddr(host)
		if !strings.HasPrefix(host, "/") && host != "localhost" && (err != nil || !addr.IsLoopback()) {
			return true
		}
	}
	return false
}

// journal checks that the database of a journal in PostgreSQL answers and is replicated.
func (p *diagnosis) journal() {
	if p.Journal == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, databaseTime)
	defer cancel()
	switch where, replicated, err := p.Journal(ctx); {
	case err != nil:
		p.unreachable("journal", "check journal-db-*", where, err)
	case !replicated:
		p.add(SeverityWarning, "journal", "set synchronous_standby_names in PostgreSQL, unless the service "+
			"replicates below it",
			"%s waits for no standby: with its machine the last moves are lost", where)
	default:
		p.add(SeverityOK, "journal", "", "%s waits for a synchronous standby", where)
	}
}

const ownSchema = "let db-user own the database (ALTER DATABASE … OWNER TO …) and its tables (REASSIGN OWNED BY … TO …)"

// databases checks that each store answers, and that its schema can be used or migrated.
func (p *diagnosis) databases() {
	list, err := p.Databases(p.profiles, p.Dir)
	if err != nil {
		p.add(SeverityError, "database", "", "%v", err)
		return
	}
	for _, s := range list {
		defer s.Store.Close()
		if s.File != "" {
			if _, err := os.Stat(s.File); errors.Is(err, os.ErrNotExist) {
				p.add(SeverityOK, "database", "", "%s is made at the first start", s.Name)
				continue
			}
		}
		ctx, cancel := context.WithTimeout(p.ctx, databaseTime)
		st, err := s.Store.Status(ctx)
		cancel()
		switch {
		case err != nil && s.File != "":
			p.add(SeverityError, "database", "let the user who runs the server own the file and its directory; a "+
				"damaged file only a backup mends", "%s: %v", s.Name, err)
		case err != nil:
			p.unreachable("database", "check db-host and db-port", s.Name, err)
		case st.Original != nil:
			p.add(SeverityError, "database", "'wamble import' brings its rows to a new database", "%s: %v", s.Name,
				st.Original)
		case st.Refused() != nil:
			p.add(SeverityError, "database", "use the newer binary", "%s has schema %d, this binary knows %d", s.Name,
				st.Version, st.Latest)
		case st.Denied != "" && st.Version < st.Latest:
			p.add(SeverityError, "database", ownSchema, "%s (%s) has schema %d of %d and cannot be migrated: %s",
				s.Name, st.Server, st.Version, st.Latest, st.Denied)
		case st.Denied != "":
			p.add(SeverityWarning, "database", ownSchema, "%s (%s), schema %d; a newer binary could not migrate it: %s",
				s.Name, st.Server, st.Version, st.Denied)
		case st.Adopt:
			p.add(SeverityWarning, "database", "back it up; then the start does it, or 'wamble migrate'",
				"%s (%s) was made by the original Wamble and is to be adopted, with all its rows", s.Name, st.Server)
		case st.Version < st.Latest:
			p.add(SeverityWarning, "database", "the start does it; 'wamble migrate' does it now",
				"%s (%s) has schema %d of %d and is to be migrated", s.Name, st.Server, st.Version, st.Latest)
		case st.Version > st.Latest:
			p.add(SeverityOK, "database", "", "%s (%s), schema %d, newer than this binary, which can use it", s.Name,
				st.Server, st.Version)
		default:
			p.add(SeverityOK, "database", "", "%s (%s), schema %d", s.Name, st.Server, st.Version)
		}
	}
}

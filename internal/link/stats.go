package link

// Stats counts the packets of a Server and what it did, since its start; a restored server
// continues the counts. The table below says what each counter means.
type Stats struct {
	// Packets that had an effect.
	Packets, Requests, Acks, Duplicates, Replays uint64
	// Packets that had none, by reason.
	Malformed, Unknown, NoToken, Behind, InFlight, Busy, Limited, Refused, RebindLimit, StrayAcks uint64
	// Packets to clients.
	Sent, Repeated, GivenUp, Withheld, BudgetSpent, Unkept, Cookies uint64
	// What became of addresses and sessions.
	Proven, Rebinds, Moved, Restarts, Evicted, Expired uint64
}

// stat is one row of the table of counters.
type stat struct {
	name, help string
	of         func(*Stats) *uint64
}

// stats is the one table of counters: every field of Stats has its row.
var stats = [...]stat{
	{"packets", "packets received", func(s *Stats) *uint64 { return &s.Packets }},
	{"requests", "requests handed to the handler", func(s *Stats) *uint64 { return &s.Requests }},
	{"acks", "ACKs that matched a packet", func(s *Stats) *uint64 { return &s.Acks }},
	{"stray_acks", "ACKs that matched nothing", func(s *Stats) *uint64 { return &s.StrayAcks }},
	{"duplicates", "repeated requests that were done: acknowledged again", func(s *Stats) *uint64 { return &s.Duplicates }},
	{"in_flight", "repeated requests that were in flight: dropped", func(s *Stats) *uint64 { return &s.InFlight }},
	{"replays", "kept answers sent again", func(s *Stats) *uint64 { return &s.Replays }},
	{"malformed", "packets dropped: they do not parse", func(s *Stats) *uint64 { return &s.Malformed }},
	{"unknown", "packets dropped: unknown control code", func(s *Stats) *uint64 { return &s.Unknown }},
	{"no_token", "packets dropped: they need a token", func(s *Stats) *uint64 { return &s.NoToken }},
	{"behind", "requests dropped: number too old to tell whether it is new", func(s *Stats) *uint64 { return &s.Behind }},
	{"busy", "requests dropped: too many of the session in flight", func(s *Stats) *uint64 { return &s.Busy }},
	{"limited", "requests dropped: over a rate limit", func(s *Stats) *uint64 { return &s.Limited }},
	{"refused", "packets dropped: no room for one more address", func(s *Stats) *uint64 { return &s.Refused }},
	{"sent", "packets sent, each copy counted", func(s *Stats) *uint64 { return &s.Sent }},
	{"repeated", "packets sent again because no ACK came", func(s *Stats) *uint64 { return &s.Repeated }},
	{"given_up", "reliable packets given up without ACK", func(s *Stats) *uint64 { return &s.GivenUp }},
	{"withheld", "packets not sent at once to an unproven address", func(s *Stats) *uint64 { return &s.Withheld }},
	{"budget_spent", "exempt replies that met an empty byte budget", func(s *Stats) *uint64 { return &s.BudgetSpent }},
	{"unkept", "packets sent once because the memory for packets is full", func(s *Stats) *uint64 { return &s.Unkept }},
	{"proven", "addresses that proved themselves", func(s *Stats) *uint64 { return &s.Proven }},
	{"rebinds", "sessions that appeared at one more address", func(s *Stats) *uint64 { return &s.Rebinds }},
	{"rebind_limit", "packets dropped: the session changes its address too often", func(s *Stats) *uint64 { return &s.RebindLimit }},
	{"moved", "sessions whose pushes moved to another address", func(s *Stats) *uint64 { return &s.Moved }},
	{"restarts", "sessions whose numbers restarted with a hello", func(s *Stats) *uint64 { return &s.Restarts }},
	{"evicted", "addresses that made room for another", func(s *Stats) *uint64 { return &s.Evicted }},
	{"expired", "addresses forgotten after silence", func(s *Stats) *uint64 { return &s.Expired }},
	{"cookies", "hellos answered with a cookie", func(s *Stats) *uint64 { return &s.Cookies }},
}

// stateStats is how many counters, from the first, Snapshot stores; AppendKeys stores the
// others.
const stateStats = 27

// Each calls f with the snake-case name, the meaning and the value of every counter.
func (s Stats) Each(f func(name, help string, value uint64)) {
	for _, row := range stats {
		f(row.name, row.help, *row.of(&s))
	}
}

package link

import (
	"time"

	"wamble"
	"wamble/internal/tokenbucket"
	"wamble/wire"
)

// Config are the settings of an Endpoint. Zero or less means the default, except where stated.
// SetConfig may change them while it runs.
type Config struct {
	// Sends is how often a reliable packet is sent in all; 3.
	Sends int
	// FirstWait is the time before the first repetition while the round-trip time of the
	// address is unknown; 250 ms.
	FirstWait time.Duration
	// MinWait and MaxWait bound every wait for an ACK; 100 ms and 8 s. A shorter MinWait would
	// repeat packets that a LAN client acknowledges slightly late.
	MinWait, MaxWait time.Duration
	// ReplayTTL is how long the answer of a request is kept; 2 s. Negative values keep no
	// answers.
	ReplayTTL time.Duration
	// SessionTimeout is how long a silent address is remembered; 300 s.
	SessionTimeout time.Duration
	// MaxPaths bounds the proven paths; 65536. Unproven ones have room for a quarter as
	// many in addition. MaxPerHost bounds the paths of one IP address (of one /56 of IPv6);
	// 4096.
	MaxPaths, MaxPerHost int
	// MaxPacketBytes bounds the memory of packets that wait for an ACK or are kept for replay;
	// over it packets are sent once. 64 MiB. Packets to unproven addresses have a sixteenth of it in addition.
	MaxPacketBytes int
	// TokenRate and HostRate bound the requests per second of one token and of one IP address
	// (one /56 of IPv6). Zero or less means no bound. Requests without a token count at
	// TokenRate for their IP address. Connections, datagrams of proven clients and all other
	// datagrams of an IP address have separate counters.
	TokenRate, HostRate int
	// NetworkBudget and ListenerBudget bound the bytes per second that exempt replies (see the
	// package comment) send to one /24 or /48, and in all; bursts may be four times as large.
	// 256 KiB and 4 MiB.
	NetworkBudget, ListenerBudget int
	// FirstSeq, if set, returns the number of the first reliable packet to a new path, at
	// least 1; otherwise it is 1. Random numbers prevent clients that detect copies by number
	// from ignoring packets after a restart.
	FirstSeq func() uint32
	// Bypass, if set, reports whether a request is exempt from rate limits.
	Bypass func(from wamble.Peer, h wire.Header) bool
}

// Bounds that need no tuning.
const (
	maxOpen       = 64               // requests of a session in flight
	maxQueue      = 128              // packets of a path without ACK
	maxWithheld   = 16               // packets of an unproven path
	maxBundles    = 8                // fragmented answers of a path; 1 of an unproven one
	unprovenShare = 16               // part of MaxPacketBytes for packets to unproven addresses
	maxAnswers    = 8                // requests of a session whose answers are kept
	maxAddresses  = 4                // addresses of a session
	maxPerAddress = 4                // paths of an address
	minUnproven   = 1 << 4           // unproven paths in all, at least this and
	maxUnproven   = 1 << 12          // at most this; in between a quarter of MaxPaths
	maxSessions   = 4                // sessions of a token that are indexed by it
	maxCounters   = 1 << 16          // rate counters, budgets, remembered proofs
	withheldTime  = time.Minute      // how long a packet waits for an unproven address to have credit
	proofTime     = time.Hour        // how long a proof is remembered after its path is gone
	restartAfter  = 10 * time.Second // silence after which an old number in a hello is a restart
	idleProven    = time.Minute      // silence after which a proven path may make room
)

// rebindLimit is how often a session may change its address.
var rebindLimit = tokenbucket.Limit{Rate: 1, Per: 2 * time.Second, Burst: 4}

func (c Config) withDefaults() Config {
	def(&c.Sends, 3)
	def(&c.FirstWait, 250*time.Millisecond)
	def(&c.MinWait, 100*time.Millisecond)
	def(&c.MaxWait, 8*time.Second)
	if c.ReplayTTL == 0 {
		c.ReplayTTL = 2 * time.Second
	}
	def(&c.SessionTimeout, 300*time.Second)
	def(&c.MaxPaths, 1<<16)
	def(&c.MaxPerHost, 1<<12)
	def(&c.MaxPacketBytes, 64<<20)
	def(&c.NetworkBudget, 256<<10)
	def(&c.ListenerBudget, 4<<20)
	return c
}

func (c Config) backoff() backoff {
	return backoff{first: c.FirstWait, floor: min(c.MinWait, c.MaxWait), ceiling: c.MaxWait}
}

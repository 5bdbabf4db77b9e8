package loader

import (
	"slices"
	"time"
)

// Report is the result of a run. All counts but AcceptedCount are of the measured time: from
// when every client had a session to the end of Options.Duration.
type Report struct {
	Mode    Mode
	Clients int
	Elapsed time.Duration
	// Answered is how many requests were answered with success: moves accepted, sessions
	// greeted, lists received; in Spectate, how many updates arrived.
	Answered uint64
	// Latency is from the first copy of a request to its answer; in Spectate and Mixed that of
	// moves, in JSON that of moves sent as packets.
	Latency Latency
	// Seconds has the number of answers in each whole second.
	Seconds []uint64
	// LongestGap is the longest time without an answer to a player.
	LongestGap time.Duration
	Counts     Counts
	// Roles are the reports of the clients of each Role.
	Roles []RoleReport
	// Loader is the processor time of this process and Server that of the server; 0 if unknown.
	Loader, Server time.Duration
	// Dropped is how many datagrams were dropped before the loader could read them.
	Dropped uint64

	log        *log
	unresolved []entry
}

// Counts are the numbers of irregular events.
type Counts struct {
	Resent     uint64 `json:"resent"`     // further copies of requests
	Timeouts   uint64 `json:"timeouts"`   // requests given up, and sent again as new ones
	Rejected   uint64 `json:"rejected"`   // moves refused: ERROR 1008 and 1009
	Refused    uint64 `json:"refused"`    // other refusals: rate limit, internal error, server is starting
	Duplicates uint64 `json:"duplicates"` // answers that were received before
	Pushed     uint64 `json:"pushed"`     // boards that were pushed
	Resumed    uint64 `json:"resumed"`    // hellos with a token that were answered with the same token
	Forgotten  uint64 `json:"forgotten"`  // tokens that the server no longer knew
	Moved      uint64 `json:"moved"`      // resumed sessions without an unresolved move that held a board and got another
	Malformed  uint64 `json:"malformed"`  // packets that do not parse
}

func (c *Counts) add(o *Counts) {
	c.Resent += o.Resent
	c.Timeouts += o.Timeouts
	c.Rejected += o.Rejected
	c.Refused += o.Refused
	c.Duplicates += o.Duplicates
	c.Pushed += o.Pushed
	c.Resumed += o.Resumed
	c.Forgotten += o.Forgotten
	c.Moved += o.Moved
	c.Malformed += o.Malformed
}

// PerSecond returns the rate of answers.
func (r *Report) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Answered) / r.Elapsed.Seconds()
}

// SecondHalf returns the rate of answers in the second half of the whole seconds, when the load
// is steady. For a run of less than two seconds it is the rate of all answers.
func (r *Report) SecondHalf() float64 {
	if len(r.Seconds) < 2 {
		return r.PerSecond()
	}
	late, sum := r.Seconds[len(r.Seconds)/2:], uint64(0)
	for _, n := range late {
		sum += n
	}
	return float64(sum) / float64(len(late))
}

// WorstSecond returns the lowest number of answers in a whole second, as a share of the median;
// 0 if there were no answers or no whole second.
func (r *Report) WorstSecond() float64 {
	sorted := slices.Sorted(slices.Values(r.Seconds))
	if len(sorted) == 0 || sorted[0] == 0 {
		return 0
	}
	return float64(sorted[0]) / float64(sorted[len(sorted)/2])
}

// AcceptedCount returns how many moves were accepted in the whole run, including those after
// the measured time.
func (r *Report) AcceptedCount() int { return r.log.n }

// Unresolved returns the moves that were sent and never answered: the server may have stored
// them.
func (r *Report) Unresolved() []Accepted {
	var all []Accepted
	for _, e := range r.unresolved {
		all = append(all, r.log.accepted(e))
	}
	return all
}

// Second is one second of a run.
type Second struct {
	At       time.Duration // end of the second, from the begin of the measured time
	Answered uint64
	P99      time.Duration
	Max      time.Duration
	Roles    [roleCount]uint64 // answered so far, by role
}

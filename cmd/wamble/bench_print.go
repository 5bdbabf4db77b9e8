package main

import (
	"encoding/json"
	"fmt"
	"time"

	"wamble/internal/loader"
)

// benchColumns has the columns of the table that bench prints, with one row per round.
var benchColumns = []struct {
	head string
	cell func(*benchRound) string
}{
	{"per second", func(r *benchRound) string { return fmt.Sprintf("%.0f", r.Report.PerSecond()) }},
	{"second half", func(r *benchRound) string { return fmt.Sprintf("%.0f", r.Report.SecondHalf()) }},
	{"worst second", func(r *benchRound) string {
		return unless(len(r.Report.Seconds) == 0, func() string { return fmt.Sprintf("%.2f", r.Report.WorstSecond()) })
	}},
	{"echo", func(r *benchRound) string {
		return unless(r.Echo == nil, func() string { return fmt.Sprintf("%.0f", r.Echo.PerSecond()) })
	}},
	{"ratio", func(r *benchRound) string {
		return unless(r.Echo == nil, func() string { return fmt.Sprintf("%.2f", r.ratio()) })
	}},
	{"by CPU", func(r *benchRound) string {
		return unless(r.cpuRatio() == 0, func() string { return fmt.Sprintf("%.2f", r.cpuRatio()) })
	}},
	{"p50", func(r *benchRound) string { return shortly(r.Report.Latency.Quantile(0.5)) }},
	{"p90", func(r *benchRound) string { return shortly(r.Report.Latency.Quantile(0.9)) }},
	{"p99", func(r *benchRound) string { return shortly(r.Report.Latency.Quantile(0.99)) }},
	{"p99.9", func(r *benchRound) string { return shortly(r.Report.Latency.Quantile(0.999)) }},
	{"longest gap", func(r *benchRound) string { return shortly(r.Report.LongestGap) }},
	{"resent", func(r *benchRound) string { return fmt.Sprint(r.Report.Counts.Resent) }},
	{"timeouts", func(r *benchRound) string { return fmt.Sprint(r.Report.Counts.Timeouts) }},
	{"server CPU", func(r *benchRound) string {
		return unless(r.Report.Server == 0, func() string { return inSeconds(r.Report.Server) })
	}},
	{"loader CPU", func(r *benchRound) string { return inSeconds(r.Report.Loader) }},
	{"stolen", func(r *benchRound) string {
		return unless(r.Stolen < 0, func() string { return fmt.Sprintf("%.0f %%", 100*r.Stolen) })
	}},
	{"most lag", func(r *benchRound) string {
		return unless(r.Lag < 0, func() string { return inSeconds(r.MostLag) })
	}},
	{"lag", func(r *benchRound) string {
		return unless(r.Lag < 0, func() string { return inSeconds(r.Lag) })
	}},
	{"drain", func(r *benchRound) string { return unless(r.Drain == 0, func() string { return inSeconds(r.Drain) }) }},
}

func unless(absent bool, text func() string) string {
	if absent {
		return "-"
	}
	return text()
}

// shortly formats a duration in µs or ms.
func shortly(d time.Duration) string {
	if d < time.Millisecond {
		return fmt.Sprintf("%d µs", d.Microseconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func inSeconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func (b *bench) printHead() {
	if b.flags.json {
		return
	}
	out, unit := b.cmd.OutOrStdout(), b.options.Mode.Unit()
	where := "a server of its own"
	switch {
	case b.flags.mode == modeEcho:
		where = "the bare echo"
	case b.flags.addr != "":
		where = b.flags.addr
	}
	fmt.Fprintf(out, "%s for %v with %s against %s\n", unit, b.options.Duration, plural(b.options.Clients, "client"),
		where)
	b.printRow("round", func(i int) string { return benchColumns[i].head })
}

// printRow prints one line of the table.
func (b *bench) printRow(name string, cell func(i int) string) {
	out := b.cmd.OutOrStdout()
	fmt.Fprintf(out, "%-6s", name)
	for i, c := range benchColumns {
		fmt.Fprintf(out, "  %*s", max(len(c.head), 8), cell(i))
	}
	fmt.Fprintln(out)
}

func (b *bench) printRound(i int, r *benchRound) {
	if b.flags.json {
		return
	}
	b.printRow(fmt.Sprint(i+1), func(i int) string { return benchColumns[i].cell(r) })
	out, c := b.cmd.OutOrStdout(), r.Report.Counts
	if c.Rejected+c.Refused+c.Forgotten+c.Moved+c.Malformed+r.Report.Dropped > 0 {
		fmt.Fprintf(out, "        %d rejected, %d refused, %d tokens forgotten, %d boards lost, %d malformed, %d datagrams dropped here\n",
			c.Rejected, c.Refused, c.Forgotten, c.Moved, c.Malformed, r.Report.Dropped)
	}
	b.printRoles(r)
	if v := r.Kept; v != nil {
		fmt.Fprintf(out, "        verified: %d accepted, %d in the database; missing %d, twice %d, different %d, extra %d, unanswered %d of %d\n",
			v.Accepted, v.Kept, v.Missing, v.Twice, v.Different, v.Extra, v.Unresolved, len(r.Report.Unresolved()))
	}
}

// printRoles prints a line for each role, in modes with several.
func (b *bench) printRoles(r *benchRound) {
	if m := r.Report.Mode; m != loader.Spectate && m != loader.Mixed && m != loader.JSON {
		return
	}
	for i, role := range r.Report.Roles {
		name := loader.Role(i)
		if role.Clients == 0 {
			continue
		}
		rate := float64(role.Answered) / r.Report.Elapsed.Seconds()
		fmt.Fprintf(b.cmd.OutOrStdout(), "        %d %v: %.0f %s a second, %.1f each", role.Clients, name, rate,
			name.Unit(), rate/float64(role.Clients))
		if role.Latency.Count() > 0 {
			fmt.Fprintf(b.cmd.OutOrStdout(), "; p50 %s, p99 %s", shortly(role.Latency.Quantile(0.5)),
				shortly(role.Latency.Quantile(0.99)))
		}
		fmt.Fprintln(b.cmd.OutOrStdout())
	}
}

func (b *bench) printSecond(s loader.Second) {
	out := b.cmd.OutOrStdout()
	if b.flags.json {
		out = b.cmd.ErrOrStderr()
	}
	fmt.Fprintf(out, "%5.0f s  %8d  p99 %s  max %s\n", s.At.Seconds(), s.Answered, shortly(s.P99), shortly(s.Max))
}

func (b *bench) printEnd() error {
	middle, ratio := median(b.rounds)
	if b.flags.json {
		return b.printJSON(middle, ratio)
	}
	b.printRow("median", func(i int) string {
		if c := benchColumns[i]; c.head != "ratio" || middle.Echo == nil {
			return c.cell(middle)
		}
		return fmt.Sprintf("%.2f", ratio)
	})
	return nil
}

// benchJSON is the object that --json prints.
type benchJSON struct {
	Mode      string      `json:"mode"`
	Clients   int         `json:"clients"`
	Duration  float64     `json:"duration_s"`
	PerSecond float64     `json:"per_second"` // of the median round
	Ratio     float64     `json:"ratio,omitempty"`
	Rounds    []roundJSON `json:"rounds"`
}

// roundJSON is one round of benchJSON.
type roundJSON struct {
	PerSecond  float64            `json:"per_second"`
	SecondHalf float64            `json:"second_half_per_second"`
	Worst      float64            `json:"worst_second"` // slowest second, as a share of the median one
	Echo       float64            `json:"echo_per_second,omitempty"`
	Ratio      float64            `json:"ratio,omitempty"`
	CPURatio   float64            `json:"cpu_ratio,omitempty"`
	Answered   uint64             `json:"answered"`
	Latency    map[string]float64 `json:"latency_ms"`
	LongestGap float64            `json:"longest_gap_ms"`
	Counts     loader.Counts      `json:"counts"`
	Dropped    uint64             `json:"dropped_datagrams"`
	ServerCPU  float64            `json:"server_cpu_s"`
	LoaderCPU  float64            `json:"loader_cpu_s"`
	Stolen     *float64           `json:"stolen,omitempty"` // share of the processors' time
	Lag        *float64           `json:"lag_s,omitempty"`  // of the store, at the end
	MostLag    *float64           `json:"most_lag_s,omitempty"`
	Drain      float64            `json:"drain_s,omitempty"`
	Verified   *loader.Verdict    `json:"verified,omitempty"`
	Roles      []roleJSON         `json:"roles,omitempty"`
}

// roleJSON has the figures of one role, in modes with several.
type roleJSON struct {
	Role      string  `json:"role"`
	Clients   int     `json:"clients"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms,omitempty"`
	P99       float64 `json:"p99_ms,omitempty"`
}

func (b *bench) printJSON(middle *benchRound, ratio float64) error {
	o := benchJSON{
		Mode: b.flags.mode, Clients: b.options.Clients, Duration: b.options.Duration.Seconds(),
		PerSecond: middle.Report.PerSecond(), Ratio: ratio,
	}
	for i := range b.rounds {
		o.Rounds = append(o.Rounds, b.rounds[i].json())
	}
	e := json.NewEncoder(b.cmd.OutOrStdout())
	e.SetIndent("", "  ")
	return e.Encode(o)
}

func (r *benchRound) json() roundJSON {
	millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	l := &r.Report.Latency
	o := roundJSON{
		PerSecond: r.Report.PerSecond(), SecondHalf: r.Report.SecondHalf(), Worst: r.Report.WorstSecond(),
		Ratio: r.ratio(), CPURatio: r.cpuRatio(), Answered: r.Report.Answered,
		Latency: map[string]float64{
			"p50": millis(l.Quantile(0.5)), "p90": millis(l.Quantile(0.9)), "p99": millis(l.Quantile(0.99)),
			"p99.9": millis(l.Quantile(0.999)), "max": millis(l.Max()), "mean": millis(l.Mean()),
		},
		LongestGap: millis(r.Report.LongestGap), Counts: r.Report.Counts, Dropped: r.Report.Dropped,
		ServerCPU: r.Report.Server.Seconds(), LoaderCPU: r.Report.Loader.Seconds(),
		Drain: r.Drain.Seconds(), Verified: r.Kept,
	}
	if lag, most := r.Lag.Seconds(), r.MostLag.Seconds(); r.Lag >= 0 {
		o.Lag, o.MostLag = &lag, &most
	}
	if r.Stolen >= 0 {
		o.Stolen = &r.Stolen
	}
	if r.Echo != nil {
		o.Echo = r.Echo.PerSecond()
	}
	if m := r.Report.Mode; m == loader.Spectate || m == loader.Mixed || m == loader.JSON {
		for i, role := range r.Report.Roles {
			if role.Clients > 0 {
				o.Roles = append(o.Roles, roleJSON{
					Role: loader.Role(i).String(), Clients: role.Clients,
					PerSecond: float64(role.Answered) / r.Report.Elapsed.Seconds(),
					P50:       millis(role.Latency.Quantile(0.5)), P99: millis(role.Latency.Quantile(0.99)),
				})
			}
		}
	}
	return o
}

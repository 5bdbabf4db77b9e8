package loader

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"wamble/internal/link"
	"wamble/wire"
)

// linked serves with a link, and with the answers of an Echo.
func linked(e *Echo) error {
	s := link.NewEndpoint(link.Config{})
	epoch := time.Now()
	var gate uint64
	for {
		var until time.Time
		if next, ok := s.Next(); ok {
			until = epoch.Add(next)
		}
		packets, err := e.udp.Read(until)
		if err != nil {
			return err
		}
		now := time.Since(epoch)
		gate++
		for _, p := range packets {
			r := s.Receive(now, p.Peer, p.Data, &e.out)
			if r.Verdict != link.New {
				continue
			}
			switch r.Packet.Ctrl {
			case wire.CtrlPlayerMove:
				s.Vouch(r.Request)
				copy(e.update[4:20], r.Packet.Token[:])
				s.Reply(r.Request, e.update)
			case wire.CtrlClientHello:
				token := tokenOf(p.Peer.Addr)
				copy(e.hello[4:20], token[:])
				s.Reply(r.Request, e.hello)
			}
			s.Finish(r.Request, gate)
		}
		s.Release(now, gate, &e.out)
		s.Due(now, &e.out)
		if err := e.udp.Write(&e.out); err != nil {
			return err
		}
		e.out.Reset()
	}
}

// cpu is the processor time of the servant: fields 14 and 15 of its stat, in
// hundredths of a second.
func (s servant) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * 10 * time.Millisecond
}

// rate is what one run measured.
type rate struct {
	perSecond float64 // moves in a second
	perCPU    float64 // moves in a second of the servant's processor time
}

func measureServant(tb testing.TB, name string) rate {
	s := startServant(tb, name)
	r, err := Run(context.Background(), Options{Server: s.addr, Clients: 256, Duration: time.Second, ServerCPU: s.cpu})
	if err != nil {
		tb.Fatal(err)
	}
	// The run is valid only if nearly every move was new.
	if c := r.Counts; c.Resent+c.Duplicates+c.Pushed > r.Answered/10 {
		tb.Errorf("%d moves are not the pattern that was meant: %+v", r.Answered, c)
	}
	return rate{r.PerSecond(), float64(r.Answered) / max(r.Server, time.Millisecond).Seconds()}
}

// BenchmarkLinkOverEcho measures what reliable delivery costs: moves (move in, ACK and update
// out, ACK in) through transport, link and a trivial handler, against a bare echo with the
// same system calls. The two take turns; the ratio is the median of three. On a shared
// machine the ratio by processor time is the one that counts.
func BenchmarkLinkOverEcho(b *testing.B) {
	const rounds = 3
	var echoes, links, byWall, byCPU []float64
	for range b.N {
		for range rounds {
			e, l := measureServant(b, "echo"), measureServant(b, "linked")
			b.Logf("echo %6.0f/s (%6.0f per CPU second), link %6.0f/s (%6.0f per CPU second)", e.perSecond, e.perCPU,
				l.perSecond, l.perCPU)
			echoes, links = append(echoes, e.perSecond), append(links, l.perSecond)
			byWall, byCPU = append(byWall, l.perSecond/e.perSecond), append(byCPU, l.perCPU/e.perCPU)
		}
	}
	b.ReportMetric(median(echoes), "echo-moves/s")
	b.ReportMetric(median(links), "link-moves/s")
	b.ReportMetric(median(byWall), "ratio")
	b.ReportMetric(median(byCPU), "ratio-by-cpu")
	b.ReportMetric(0, "ns/op")
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

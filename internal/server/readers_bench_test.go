package server

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkReaders measures how long a move takes without readers, and while 64 connections
// read from the database, five seconds of each in turn. The ratio of the p99 should stay
// below 2.
func BenchmarkReaders(b *testing.B) {
	a := openArena(b)
	var alone, read []time.Duration
	var answers atomic.Int64
	for b.Loop() {
		alone = append(alone, a.pulse(b, 250)...)
		ctx, enough := context.WithCancel(b.Context())
		var readers sync.WaitGroup
		for i := range 64 {
			readers.Go(func() { a.reads(ctx, i, &answers) })
		}
		read = append(read, a.pulse(b, 250)...)
		enough()
		readers.Wait()
	}
	slices.Sort(alone)
	slices.Sort(read)
	for _, percent := range []int{50, 99} {
		b.ReportMetric(at(alone, percent), fmt.Sprintf("alone-p%d-ms", percent))
		b.ReportMetric(at(read, percent), fmt.Sprintf("read-p%d-ms", percent))
		b.ReportMetric(at(read, percent)/at(alone, percent), fmt.Sprintf("p%d-ratio", percent))
	}
	b.ReportMetric(float64(answers.Load())/float64(b.N), "answers/op")
	a.end()
}

// reads requests games and ranks over a connection from an address of its own.
func (a *arena) reads(ctx context.Context, i int, answers *atomic.Int64) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 5, 0, byte(1+i))}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	defer transport.CloseIdleConnections()
	for ctx.Err() == nil {
		path := [...]string{fmt.Sprintf("boards/%d", 1+rand.IntN(1000)),
			fmt.Sprintf("boards/%d/pgn", 1+rand.IntN(1000)),
			fmt.Sprintf("leaderboard?limit=%d", 1+rand.IntN(100)), "finished"}[rand.IntN(4)]
		r, err := http.NewRequestWithContext(ctx, "GET", "http://127.0.0.1:"+a.port+"/api/"+path, nil)
		if err != nil {
			return
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			continue
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK || answer.StatusCode == http.StatusNotFound {
			answers.Add(1)
		}
	}
}

package server

import (
	"context"
	"testing"

	"wamble/internal/bot"
	"wamble/internal/watchtest"
)

// TestBotsOutliveARestart: bots play on when their server comes back, and leave nobody
// behind when they are stopped.
func TestBotsOutliveARestart(t *testing.T) {
	text, dir := staying(t, conf("")), t.TempDir()
	s := serve(t, Options{Dir: dir}, text).ready()
	crowd := &bot.Crowd{Address: "udp://" + s.Addresses().UDP.String(), Player: bot.Novice{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- crowd.Run(ctx, 3) }()
	watchtest.Until(t, "they play", func() bool { return crowd.Figures().Moves > 30 })
	s.end()
	moves := crowd.Figures().Moves
	s = serve(t, Options{Dir: dir}, text).ready()
	watchtest.Until(t, "they play on", func() bool { return crowd.Figures().Moves > moves+30 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := s.life().Gauges().Players; n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

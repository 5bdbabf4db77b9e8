package server

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"wamble/internal/bot"
	"wamble/internal/config"
	"wamble/internal/guard"
	"wamble/internal/profile"
)

const (
	houseBotPace       = 3 * time.Second        // mean time of a house bot's move, ± 50 %
	houseBotsPollEvery = time.Second            // interval between two counts of players
	houseBotThinkTime  = 100 * time.Millisecond // time of an engine for a move
	houseBotRetryEvery = 3 * time.Second        // pause after a house bot was refused
)

// houseBots are the bots that a profile runs for quiet hours: house-bots of them, less one
// for each person who plays. They connect to the profile's own port, as all players do.
type houseBots struct {
	profile *Profile
	cancel  context.CancelFunc
	cancels []context.CancelFunc // ends one bot each
	player  bot.Player           // of all seats; nil while there are none
	engine  houseEngine          // of player
	running sync.WaitGroup
}

// houseEngine is the configured engine of the house bots.
type houseEngine struct {
	command string // "" for the built-in player
	elo     int    // 0 for full strength
}

func engineOf(c *config.Profile) houseEngine {
	return houseEngine{c.Sessions.HouseBotEngine, c.Sessions.HouseBotElo}
}

// startHouseBots runs the house bots until stop.
func startHouseBots(p *Profile) *houseBots {
	ctx, cancel := context.WithCancel(context.Background())
	h := &houseBots{profile: p, cancel: cancel}
	h.running.Go(func() {
		guard.Run("the house bots", func() { h.run(ctx) }, p.reportPanic)
	})
	return h
}

// setBots starts the house bots if here is set and the first shard is on this node,
// otherwise stops them.
func (p *Profile) setBots(here bool) {
	var next *houseBots
	if here && !p.shards[0].isRemote() {
		next = startHouseBots(p)
	}
	if before := p.bots.Swap(next); before != nil {
		before.stop()
	}
}

// stop ends all house bots and waits for them.
func (h *houseBots) stop() {
	h.cancel()
	h.running.Wait()
}

// run adjusts the number of house bots to the number of people who play, until ctx ends.
func (h *houseBots) run(ctx context.Context) {
	select {
	case <-h.profile.shards[0].runtime.Up():
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(houseBotsPollEvery)
	defer tick.Stop()
	defer h.stopAll()
	for {
		c := h.profile.Config()
		if n := c.Sessions.HouseBots; n > 0 || len(h.cancels) > 0 {
			remote := h.profile.peers.Counts(h.profile.name).Sum()
			people := remote.Playing() - remote.Bots
			var err error
			for _, sh := range h.profile.localShards() {
				err = errors.Join(err, sh.whenUp(ctx, func(p *profile.Profile) {
					g := p.Gauges()
					people += g.Here + g.Waiting - g.Bots
				}))
			}
			if h.engine != engineOf(c) {
				h.stopAll()
			}
			if err == nil {
				h.setCount(ctx, engineOf(c), max(0, n-max(0, people)))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// setCount starts or ends house bots until there are n.
func (h *houseBots) setCount(ctx context.Context, e houseEngine, n int) {
	if n == 0 {
		h.stopAll()
		return
	}
	for len(h.cancels) > n {
		last := len(h.cancels) - 1
		h.cancels[last]()
		h.cancels = h.cancels[:last]
	}
	if h.player == nil {
		h.player, h.engine = h.startPlayer(ctx, e), e
	}
	for len(h.cancels) < n {
		ctx, cancel := context.WithCancel(ctx)
		h.cancels = append(h.cancels, cancel)
		pool := &bot.Pool{Address: "udp://" + reachable(h.profile.Port().Addr()).String(), Player: h.player,
			Pace: houseBotPace}
		pool.Log = func(text string) { h.profile.log.Debug("a house bot", "says", text) }
		h.running.Go(func() {
			guard.Run("a house bot", func() { h.playOne(ctx, pool) }, h.profile.reportPanic)
		})
	}
}

// playOne runs one house bot until ctx ends. A bot that is refused tries again after
// houseBotRetryEvery. Only its first refusal is logged as a warning.
func (h *houseBots) playOne(ctx context.Context, pool *bot.Pool) {
	for level := slog.LevelWarn; ; level = slog.LevelDebug {
		err := pool.RunOne(ctx)
		if ctx.Err() != nil {
			return
		}
		h.profile.log.Log(ctx, level, "a house bot has left", "err", err)
		select {
		case <-time.After(houseBotRetryEvery):
		case <-ctx.Done():
			return
		}
	}
}

// startPlayer starts the engine. It returns the built-in player if none is configured or the engine
// does not start.
func (h *houseBots) startPlayer(ctx context.Context, e houseEngine) bot.Player {
	if e.command == "" {
		return bot.Novice{}
	}
	o := bot.EngineOptions{Variety: 12, Prefer: [][2]string{{"Threads", "1"}, {"Hash", "16"}}}
	o.Command, o.Limit.Time = strings.Fields(e.command), houseBotThinkTime
	o.Log = func(text string) { h.profile.log.Warn("the engine of the house bots", "says", text) }
	if e.elo > 0 {
		o.Set = [][2]string{{"UCI_LimitStrength", "true"}, {"UCI_Elo", strconv.Itoa(e.elo)}}
	}
	engines, err := bot.StartEngines(ctx, o)
	if err != nil {
		if ctx.Err() == nil {
			h.profile.log.Warn("the built-in player plays for the house bots: house-bot-engine does not", "err", err)
		}
		return bot.Novice{}
	}
	h.profile.log.Info("an engine plays for the house bots", "engine", engines.Name())
	return engines
}

// stopAll ends all house bots and the engine.
func (h *houseBots) stopAll() {
	for _, leave := range h.cancels {
		leave()
	}
	h.cancels = nil
	if h.player != nil {
		h.player.Close()
		h.player = nil
	}
}

// reachable returns the address of a port for a client on this machine.
func reachable(a netip.AddrPort) netip.AddrPort {
	switch ip := a.Addr(); {
	case !ip.IsUnspecified():
		return a
	case ip.Is4():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Loopback(), a.Port())
}

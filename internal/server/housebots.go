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
	houseBotPace  = 3 * time.Second        // mean time of a house bot's move, ± 50 %
	houseBotsLook = time.Second            // interval between two counts of players
	houseBotThink = 100 * time.Millisecond // time of an engine for a move
	houseBotAgain = 3 * time.Second        // pause after a house bot was refused
)

// houseBots are the bots that a profile runs for quiet hours: house-bots of them, less one
// for each person who plays. They connect to the profile's own port, as all players do.
type houseBots struct {
	k      *supervisor
	end    context.CancelFunc
	seats  []context.CancelFunc // ends one bot each
	player bot.Player           // of all seats; nil while there are none
	engine houseEngine          // of player
	all    sync.WaitGroup
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
func startHouseBots(k *supervisor) *houseBots {
	ctx, cancel := context.WithCancel(context.Background())
	h := &houseBots{k: k, end: cancel}
	h.all.Go(func() {
		guard.Run("the house bots", func() { h.keep(ctx) }, k.caught)
	})
	return h
}

// seatBots starts the house bots if here is set and the first shard is on this node,
// otherwise stops them.
func (k *supervisor) seatBots(here bool) {
	var next *houseBots
	if here && !k.isAway() {
		next = startHouseBots(k)
	}
	if before := k.bots.Swap(next); before != nil {
		before.stop()
	}
}

// stop ends all house bots and waits for them.
func (h *houseBots) stop() {
	h.end()
	h.all.Wait()
}

// keep adjusts the number of house bots to the number of people who play, until ctx ends.
func (h *houseBots) keep(ctx context.Context) {
	select {
	case <-h.k.Up():
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(houseBotsLook)
	defer tick.Stop()
	defer h.dismiss()
	for {
		c := h.k.Config()
		if n := c.Sessions.HouseBots; n > 0 || len(h.seats) > 0 {
			elsewhere := h.k.abroad.counts(h.k.name).sum()
			people := elsewhere.Playing() - elsewhere.Bots
			var err error
			for _, l := range h.k.here() {
				err = errors.Join(err, l.soon(ctx, func(p *profile.Profile) {
					g := p.Gauges()
					people += g.Here + g.Waiting - g.Bots
				}))
			}
			if h.engine != engineOf(c) {
				h.dismiss()
			}
			if err == nil {
				h.seat(ctx, engineOf(c), max(0, n-max(0, people)))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// seat starts or ends house bots until there are n.
func (h *houseBots) seat(ctx context.Context, e houseEngine, n int) {
	if n == 0 {
		h.dismiss()
		return
	}
	for len(h.seats) > n {
		last := len(h.seats) - 1
		h.seats[last]()
		h.seats = h.seats[:last]
	}
	if h.player == nil {
		h.player, h.engine = h.hire(ctx, e), e
	}
	for len(h.seats) < n {
		ctx, cancel := context.WithCancel(ctx)
		h.seats = append(h.seats, cancel)
		crowd := &bot.Crowd{Address: "udp://" + reachable(h.k.Port().Addr()).String(), Player: h.player, Pace: houseBotPace}
		crowd.Log = func(text string) { h.k.log.Debug("a house bot", "says", text) }
		h.all.Go(func() {
			guard.Run("a house bot", func() { h.sit(ctx, crowd) }, h.k.caught)
		})
	}
}

// sit runs one house bot until ctx ends. A bot that is refused tries again after
// houseBotAgain. Only its first refusal is logged as a warning.
func (h *houseBots) sit(ctx context.Context, crowd *bot.Crowd) {
	for level := slog.LevelWarn; ; level = slog.LevelDebug {
		err := crowd.Seat(ctx)
		if ctx.Err() != nil {
			return
		}
		h.k.log.Log(ctx, level, "a house bot has left", "err", err)
		select {
		case <-time.After(houseBotAgain):
		case <-ctx.Done():
			return
		}
	}
}

// hire starts the engine. It returns the built-in player if none is configured or the engine
// does not start.
func (h *houseBots) hire(ctx context.Context, e houseEngine) bot.Player {
	if e.command == "" {
		return bot.Novice{}
	}
	o := bot.EngineOptions{Variety: 12, Prefer: [][2]string{{"Threads", "1"}, {"Hash", "16"}}}
	o.Command, o.Limit.Time = strings.Fields(e.command), houseBotThink
	o.Log = func(text string) { h.k.log.Warn("the engine of the house bots", "says", text) }
	if e.elo > 0 {
		o.Set = [][2]string{{"UCI_LimitStrength", "true"}, {"UCI_Elo", strconv.Itoa(e.elo)}}
	}
	engines, err := bot.StartEngines(ctx, o)
	if err != nil {
		if ctx.Err() == nil {
			h.k.log.Warn("the built-in player plays for the house bots: house-bot-engine does not", "err", err)
		}
		return bot.Novice{}
	}
	h.k.log.Info("an engine plays for the house bots", "engine", engines.Name())
	return engines
}

// dismiss ends all house bots and the engine.
func (h *houseBots) dismiss() {
	for _, leave := range h.seats {
		leave()
	}
	h.seats = nil
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

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
	houseBotPace  = 3 * time.Second        // of a house bot's move, give or take half of it
	houseBotsLook = time.Second            // how often the house looks who is here
	houseBotThink = 100 * time.Millisecond // of an engine about a move
	houseBotAgain = 3 * time.Second        // until one that was refused for good asks again
)

// houseBots are the players that a profile keeps for quiet hours: one less for each
// person who plays. They come in by the profile's own port, as all players do.
type houseBots struct {
	k      *supervisor
	end    context.CancelFunc
	seats  []context.CancelFunc
	player bot.Player // of all seats; nil while there is none
	engine houseEngine
	all    sync.WaitGroup
}

// houseEngine is what the configuration says of the engine that plays for them.
type houseEngine struct {
	command string // "": the built-in player
	elo     int    // 0: as strong as it is
}

func engineOf(c *config.Profile) houseEngine {
	return houseEngine{c.Sessions.HouseBotEngine, c.Sessions.HouseBotElo}
}

// startHouseBots looks after the house bots until stop.
func startHouseBots(k *supervisor) *houseBots {
	ctx, cancel := context.WithCancel(context.Background())
	h := &houseBots{k: k, end: cancel}
	h.all.Go(func() {
		guard.Run("the house bots", func() { h.keep(ctx) }, k.caught)
	})
	return h
}

// seatBots begins to look after the house bots, or lets them say goodbye. They are where
// the first shard is.
func (k *supervisor) seatBots(here bool) {
	var next *houseBots
	if here && !k.isAway() {
		next = startHouseBots(k)
	}
	if before := k.bots.Swap(next); before != nil {
		before.stop()
	}
}

// stop lets them say goodbye.
func (h *houseBots) stop() {
	h.end()
	h.all.Wait()
}

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

// seat makes it n seats.
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

// sit keeps a seat until ctx ends. One that is refused for good asks again, because the
// host may think otherwise; the log has that once.
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

// hire starts the engine, or else returns the built-in player.
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

// dismiss lets all house bots leave, and ends the engine.
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

// reachable is the address at which a port is reached from this machine.
func reachable(a netip.AddrPort) netip.AddrPort {
	switch ip := a.Addr(); {
	case !ip.IsUnspecified():
		return a
	case ip.Is4():
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), a.Port())
	}
	return netip.AddrPortFrom(netip.IPv6Loopback(), a.Port())
}

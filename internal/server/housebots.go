package server

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"wamble/internal/bot"
	"wamble/internal/guard"
	"wamble/internal/profile"
)

const (
	houseBotPace  = 3 * time.Second // of a house bot's move, give or take half of it
	houseBotsLook = time.Second     // how often the house looks who is here
)

// houseBots are the built-in players that a profile keeps for quiet hours: one less
// for each person who plays. They come in by the profile's own port, as all players do.
type houseBots struct {
	k     *supervisor
	end   context.CancelFunc
	seats []context.CancelFunc
	all   sync.WaitGroup
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

// seatBots begins to look after the house bots, or lets them say goodbye.
func (k *supervisor) seatBots(here bool) {
	var next *houseBots
	if here {
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
	for {
		if n := h.k.Config().Sessions.HouseBots; n > 0 || len(h.seats) > 0 {
			people := 0
			var err error
			for _, l := range h.k.loops() {
				err = errors.Join(err, l.soon(ctx, func(p *profile.Profile) {
					g := p.Gauges()
					people += g.Here - g.Bots
				}))
			}
			if err == nil {
				h.seat(ctx, max(0, n-max(0, people)))
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
func (h *houseBots) seat(ctx context.Context, n int) {
	for len(h.seats) > n {
		last := len(h.seats) - 1
		h.seats[last]()
		h.seats = h.seats[:last]
	}
	for len(h.seats) < n {
		ctx, cancel := context.WithCancel(ctx)
		h.seats = append(h.seats, cancel)
		crowd := &bot.Crowd{Address: "udp://" + reachable(h.k.Port().Addr()).String(), Player: bot.Novice{}, Pace: houseBotPace}
		crowd.Log = func(text string) { h.k.log.Debug("a house bot", "says", text) }
		h.all.Go(func() {
			err := guard.Call("a house bot", func() error { return crowd.Seat(ctx) })
			if ctx.Err() == nil {
				h.k.log.Warn("a house bot has left", "err", err)
			}
		})
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

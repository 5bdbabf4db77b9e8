package main

import (
	"context"
	"fmt"
	"time"

	"wamble/internal/server"
	"wamble/internal/systemd"
)

// activated returns the sockets that a service manager has opened, by profile.
// FileDescriptorName= of the socket unit is the name of the profile, and the unit needs a
// datagram and a stream socket.
func activated() (map[string]server.Sockets, error) {
	list, err := systemd.Sockets()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	pairs := map[string]server.Sockets{}
	for _, s := range list {
		pair := pairs[s.Name]
		if err := pair.Add(s.File); err != nil {
			return nil, fmt.Errorf("socket %s of the service manager: %w", s.Name, err)
		}
		pairs[s.Name] = pair
	}
	for name, pair := range pairs {
		if pair.UDP == nil || pair.TCP == nil {
			return nil, fmt.Errorf("the service manager has opened one socket for profile %s; it needs ListenDatagram and ListenStream", name)
		}
	}
	return pairs, nil
}

// keepWatchdog notifies the service manager's watchdog as long as the server is alive, and of whom it
// serves.
func keepWatchdog(ctx context.Context, s *server.Server, tell func(states ...string)) {
	every := systemd.Watchdog() / 2
	if every == 0 {
		every = time.Minute
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s.Alive(ctx, every) {
				tell(systemd.Alive, systemd.Status(s.Stage()))
			}
		}
	}
}

// teller returns a function that sends states to the service manager. Errors go to warn.
func teller(warn func(error)) func(states ...string) {
	return func(states ...string) {
		if err := systemd.Notify(states...); err != nil {
			warn(err)
		}
	}
}

// announce notifies the service manager when players are served.
func announce(ctx context.Context, s *server.Server, tell func(states ...string)) {
	if s.WaitServing(ctx) == nil {
		tell(systemd.Ready, systemd.Status(s.Stage()))
	}
}

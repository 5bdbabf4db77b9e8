package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"wamble"
	"wamble/internal/guard"
	"wamble/internal/host"
	"wamble/internal/observe"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pglog"
)

// standby is a process that waits until it can claim the journal. Meanwhile it answers
// health checks on the HTTP and admin addresses, and status at the control socket.
type standby struct {
	s          *Server
	waiting    atomic.Pointer[StandbyState]
	closers    []func() error
	background sync.WaitGroup
}

// remindEvery is the interval of log messages about errors that only the host can end.
const remindEvery = time.Minute

// standBy waits until the journal can be claimed, or ctx ends.
func (s *Server) standBy(ctx context.Context) error {
	w := &standby{s: s}
	w.waiting.Store(&StandbyState{})
	waiting, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		w.close()
		w.background.Wait()
	}()
	said, opened, checked := "", false, false
	var warned time.Time
	var last pglog.PartitionView
	var refused error // of checkShards
	err := s.sharedJournal.log.Await(waiting, s.sharedJournal.name, func(view pglog.PartitionView) {
		last = view
		// Check once that this configuration fits the database.
		if !checked && view.Err == nil && (view.Free || view.Holder != "") {
			checked = true
			if refused = s.checkShards(ctx); refused != nil {
				cancel()
				return
			}
		}
		// Publish what the standby waits for, and log changes of that.
		now := StandbyState{Holder: view.Holder, Err: view.Err}
		w.waiting.Store(&now)
		if view.Holder == "" && view.Err == nil {
			return // free, or not known yet
		}
		if !opened {
			opened = true
			w.open(waiting)
		}
		if text := now.String(); text != said {
			said = text
			s.log.Info(text, "journal", s.sharedJournal.name)
		}
		if wrong := postgres.Unusable(view.Err); wrong != nil && !pglog.LacksTables(view.Err) && time.Since(warned) >= remindEvery {
			warned = time.Now()
			s.log.Error("the journal's database cannot be used until somebody mends it", "err", wrong.Err, "advice", wrong.Advice)
		}
	})
	if refused != nil {
		return refused
	}
	var wrong *store.Unusable
	if errors.As(err, &wrong) {
		return journalUnusable(wrong)
	}
	if ctx.Err() != nil && last.Err == nil && !last.Free && last.Holder != "" && last.Holder != nodeName(s.o.Config) {
		s.writeEmptiedMarker() // the other node has what this one left in the journal
	}
	return err
}

// open begins to answer. A listener that cannot be opened is logged.
func (w *standby) open(ctx context.Context) {
	s := w.s
	ready := func() (bool, string) { return false, w.waiting.Load().String() }
	addresses := map[string]bool{s.o.Config.Server.AdminListen: true}
	if profiles, err := s.wantedProfiles(s.o.Config); err == nil {
		for _, cfg := range profiles {
			if _, tcp := socketAddresses(cfg); tcp.port != 0 {
				addresses[tcp.String()] = true
			}
		}
	}
	delete(addresses, "")
	for address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			s.log.Warn("the standby is not seen there", "address", address, "err", err)
			continue
		}
		web := &http.Server{Handler: observe.Health(ready), ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10}
		w.closers = append(w.closers, web.Close)
		w.runBackground("HTTP of a standby", func() {
			if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				s.log.Warn("HTTP of the standby has ended", "err", err)
			}
		})
	}
	if err := w.openControl(); err != nil {
		s.log.Warn("the standby has no control socket", "err", err)
	}
	if s.o.Standby != nil {
		w.runBackground("the service manager", func() { s.o.Standby(ctx, func() string { return w.waiting.Load().String() }) })
	}
}

func (w *standby) openControl() error {
	s := w.s
	c, err := host.Standby(s.dir, s.log, func(context.Context) host.Status {
		return host.Status{
			PID: os.Getpid(), Uptime: wamble.InSeconds(time.Since(s.started)), Data: s.dir,
			Journal: host.JournalStatus{State: w.waiting.Load().String(), Durability: s.durability()},
		}
	}).OpenControl(nil)
	if err != nil {
		return err
	}
	c.SetUnlinkOnClose(true)
	w.closers = append(w.closers, c.Close)
	w.runBackground("the control socket", c.Serve)
	return nil
}

func (w *standby) runBackground(what string, f func()) {
	w.background.Go(func() { guard.Run(what, f, w.s.reportPanic) })
}

func (w *standby) close() {
	for _, c := range w.closers {
		if err := c(); err != nil {
			w.s.log.Warn("the end of a standby", "err", err)
		}
	}
}

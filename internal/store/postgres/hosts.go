package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"wamble/internal/guard"
)

// headStart is how long connectAny waits for a host before it tries the next one too.
const headStart = 250 * time.Millisecond

// connectAny connects to the first host of cfg that takes writes. It tries the hosts
// concurrently, each headStart after the one before or when that has failed: tried one after
// the other, a host whose machine is lost could use up all the time.
func connectAny(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	hosts := perHost(cfg)
	if len(hosts) == 1 {
		return pgx.ConnectConfig(ctx, cfg)
	}
	bound := cfg.ConnectTimeout
	if end, ok := ctx.Deadline(); ok {
		bound = min(bound, time.Until(end))
	}
	next := time.NewTicker(max(min(headStart, bound/time.Duration(2*len(hosts))), time.Millisecond))
	defer next.Stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		conn *pgx.Conn
		err  error
	}
	answers := make(chan answer)
	var first *pgx.Conn
	var errs []error
	asked := 0
	ask := func() {
		if asked == len(hosts) || first != nil {
			return
		}
		host := hosts[asked]
		asked++
		go func() {
			var a answer
			a.err = guard.Call("a connection to PostgreSQL", func() (err error) {
				a.conn, err = pgx.ConnectConfig(ctx, host)
				return err
			})
			answers <- a
		}()
	}
	ask()
	for answered := 0; answered < asked; {
		select {
		case a := <-answers:
			answered++
			switch {
			case a.err != nil:
				errs = append(errs, a.err)
				ask()
			case first != nil:
				_ = a.conn.Close(ctx)
			default:
				first = a.conn
				cancel() // ends the other attempts
			}
		case <-next.C:
			ask()
		}
	}
	if first != nil {
		return first, nil
	}
	return nil, errors.Join(errs...)
}

// perHost returns a copy of cfg for each of its hosts.
func perHost(cfg *pgx.ConnConfig) []*pgx.ConnConfig {
	var hosts []*pgx.ConnConfig
	ways := append([]*pgconn.FallbackConfig{{Host: cfg.Host, Port: cfg.Port, TLSConfig: cfg.TLSConfig}},
		cfg.Fallbacks...)
	for _, way := range ways {
		if n := len(hosts); n > 0 && hosts[n-1].Host == way.Host && hosts[n-1].Port == way.Port {
			hosts[n-1].Fallbacks = append(hosts[n-1].Fallbacks, way) // the same host without TLS
			continue
		}
		host := cfg.Copy()
		host.Host, host.Port, host.TLSConfig, host.Fallbacks = way.Host, way.Port, way.TLSConfig, nil
		hosts = append(hosts, host)
	}
	return hosts
}

// choose leaves in cfg only the host that connectAny finds: by itself the pool tries one host
// after the other.
func choose(ctx context.Context, cfg *pgx.ConnConfig) error {
	if len(perHost(cfg)) == 1 {
		return nil
	}
	conn, err := connectAny(ctx, cfg)
	if err != nil {
		return err
	}
	found := conn.Config()
	cfg.Host, cfg.Port, cfg.TLSConfig, cfg.Fallbacks = found.Host, found.Port, found.TLSConfig, found.Fallbacks
	return conn.Close(ctx)
}

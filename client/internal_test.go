package client

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"time"

	"wamble"
	"wamble/internal/transport"
	"wamble/wire"
)

// The message was printed by the original client's code.
func TestLoginMessage(t *testing.T) {
	var token wamble.Token
	var challenge wire.Key
	for i := range token {
		token[i] = 0xa0 + byte(i)
	}
	for i := range challenge {
		challenge[i] = 0x80 + byte(i)
	}
	var public wire.Key
	public.UnmarshalText([]byte("2b4788ff5dfa85079b02dd844303d35a5b355c0fc8ee551c032bf2b1aeaf2911"))
	want := "77616d626c652e6c6f67696e2e763101a0a1a2a3a4a5a6a7a8a9aaabacadaeaf" +
		"2b4788ff5dfa85079b02dd844303d35a5b355c0fc8ee551c032bf2b1aeaf2911" +
		"808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
	if got := hex.EncodeToString(loginMessage(token, public, challenge)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestScatter(t *testing.T) {
	const d = 100 * time.Millisecond
	seen := map[time.Duration]bool{}
	for range 1000 {
		s := scatter(d)
		if s < d/2 || s >= d*3/2 {
			t.Fatalf("%v of %v", s, d)
		}
		seen[s] = true
	}
	if len(seen) < 100 {
		t.Errorf("only %d different pauses", len(seen))
	}
	if scatter(0) != 0 {
		t.Error("no pause is none")
	}
}

func TestRestarting(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&transport.CloseError{Code: 1001, Remote: true}, true},
		{&transport.CloseError{Code: 1001}, false},
		{&transport.CloseError{Code: 1011, Remote: true}, false},
		{io.EOF, false},
		{nil, false},
	} {
		if got := restarting(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

func TestQueueDropsTheOldest(t *testing.T) {
	q := newQueue[int](3)
	for i := range 5 {
		q.put(i)
	}
	reason := errors.New("over")
	q.end(reason)
	q.end(io.EOF) // the first reason counts
	q.put(9)
	for _, want := range []int{2, 3, 4} {
		if got, err := q.next(t.Context()); err != nil || got != want {
			t.Errorf("%d, %v; want %d", got, err, want)
		}
	}
	if _, err := q.next(t.Context()); err != reason {
		t.Errorf("at the end: %v", err)
	}
	if q.lost() != 2 {
		t.Errorf("%d dropped, want 2", q.lost())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newQueue[int](1).next(ctx); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

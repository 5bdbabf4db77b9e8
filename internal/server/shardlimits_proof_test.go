//go:build proof

package server

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/prooftest"
)

// TestShardsCrowd: of many players who join at once no shard gets nearly all.
func TestShardsCrowd(t *testing.T) {
	p := prooftest.Needs(t, "a machine for itself")
	h := serve(t, Options{}, conf(`(def shards 4)`)).ready()
	const crowd = 200 // as many as each shard has numbers for at once
	list := make([]*client.Client, crowd)
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range list {
		all.Go(func() {
			c, err := dial(ctx, h.address(), wamble.Token{})
			if err != nil {
				t.Error(err)
				return
			}
			list[i] = c
		})
	}
	all.Wait()
	defer func() {
		for _, c := range list {
			if c != nil {
				c.Close()
			}
		}
	}()
	if t.Failed() {
		return
	}
	for k, n := range shardsOf(list) {
		p.Judge(n <= crowd*3/4 && n >= crowd/20,
			fmt.Sprintf("shard %d has %d of %d players: %v", k, n, crowd, shardsOf(list)))
	}
}

package admin

import (
	"fmt"
	"testing"

	"wamble/internal/journal"
	"wamble/internal/store"
	"wamble/runner"
	"wamble/runner/memstore"
)

// TestQueueTitle: the title of a queue is its profile; in a journal of several shards it is
// the shard, and in that of a partition the partition's shard.
func TestQueueTitle(t *testing.T) {
	r, err := runner.Open(memstore.New(), runner.Options{Schema: journal.Schema, Create: true, MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	queue := map[string]string{}
	for _, name := range []string{"solo", "wide", store.ShardName("wide", 1), store.ShardName("wide", 2)} {
		n, err := journal.WorkerOf(t.Context(), r, name)
		if err != nil {
			t.Fatal(err)
		}
		queue[name] = fmt.Sprint(n)
	}
	h := New(API{RunningProfiles: func() []RunningProfile { return []RunningProfile{{Name: "solo"}, {Name: "wide"}} }})
	for _, tc := range []struct {
		part        int
		queue, want string
	}{
		{-1, queue["solo"], "profile solo"},
		{-1, queue["wide"], "profile wide, shard 0"},
		{-1, queue["wide 1"], "profile wide, shard 1"},
		{-1, queue["wide 2"], "profile wide, shard 2"},
		{-1, "99", ""},
		{2, queue["wide 2"], "profile wide"},
		{2, queue["wide 1"], ""},
	} {
		if got := h.queueTitle(r, tc.part)(tc.queue); got != tc.want {
			t.Errorf("queue %s of part %d: got %q, want %q", tc.queue, tc.part, got, tc.want)
		}
	}
}

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"wamble/internal/guard"
	"wamble/internal/loop"
	"wamble/internal/profile"
)

// Players predict on boards of other nodes, and watch them. The node that serves the player
// asks the holders of the shards.

const (
	// maxBoardQuestions bounds the concurrent questions about boards. A node answers few at a
	// time, and other questions need room, too.
	maxBoardQuestions = 8
	// boardQuestionTimeout bounds the answers of other nodes. Past it the player is told to try again.
	boardQuestionTimeout = 2 * time.Second
)

// boardQuestion asks a node about a board that may be in one of the shards.
type boardQuestion struct {
	Profile string
	Shards  []int
	Ask     profile.BoardRequest
}

// askRemoteShards asks the holders of shards about a board. Told is nil if none of them has it. An
// error says that not all answered.
func (r *router) askRemoteShards(ctx context.Context, name string, shards []int, in profile.BoardRequest) (told *profile.BoardReply, err error) {
	at := map[string][]int{}
	for _, shard := range shards {
		node, _, here := r.s.partitionOwners.owner(shard)
		if node == "" || here { // being adopted or left
			err = loop.ErrNotUp
			continue
		}
		at[node] = append(at[node], shard)
	}
	select {
	case r.questionSlots <- struct{}{}:
		defer func() { <-r.questionSlots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, boardQuestionTimeout)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for node, shards := range at {
		all.Go(func() {
			guard.Run("a question to another machine", func() {
				var said *profile.BoardReply
				no := r.ask(ctx, node, "board", boardQuestion{name, shards, in}, &said)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case no != nil:
					err = no
				case said != nil && said.Known:
					told = said
				}
			}, r.s.reportPanic)
		})
	}
	all.Wait()
	return told, err
}

// answerBoard answers a boardQuestion of another node. If the board is not found, it is an
// error that one of the shards is not on this node, because the board may be there.
func (s *Server) answerBoard(ctx context.Context, question []byte) ([]byte, error) {
	var q boardQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	sup := s.supervisor(q.Profile)
	if sup == nil {
		return nil, fmt.Errorf("there is no profile %s here", q.Profile)
	}
	var absent error
	for _, shard := range q.Shards {
		if shard < 0 || shard > len(sup.siblings) {
			return nil, fmt.Errorf("there is no shard %d of profile %s", shard, q.Profile)
		}
		told, err := sup.shards()[shard].AskBoard(ctx, q.Ask)
		if told != nil {
			return json.Marshal(told)
		}
		if err != nil {
			absent = fmt.Errorf("shard %d: %w", shard, err)
		}
	}
	if absent != nil {
		return nil, absent
	}
	return json.Marshal(nil)
}

package server

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"wamble/internal/guard"
	"wamble/internal/journal"
	"wamble/internal/readapi"
	"wamble/runner"
)

// feed is the finished games of a profile: those of the server's journal, or of all parts
// of a placed world.
func (s *Server) feed(k *supervisor) readapi.Feed {
	if s.placed() {
		return placedFeed{s, k}
	}
	return feed{k, s.runner}
}

// feed is the finished games of a profile, as they stand in the journal's outbox.
type feed struct {
	k      *supervisor
	runner *runner.Runner
}

func (f feed) Parts() int { return 1 }

func (f feed) Name() (string, error) { return feedName(f.runner), nil }

// feedName is the beginning of the journal's name: another journal has other numbers.
func feedName(r *runner.Runner) string {
	id := r.JournalID()
	return hex.EncodeToString(id[:4])
}

func (f feed) End(context.Context) (readapi.Marks, error) {
	return readapi.Marks{journal.FeedEnd(f.runner)}, nil
}

func (f feed) Read(_ context.Context, after readapi.Marks, limit int) ([]readapi.Ended, readapi.Marks, bool, error) {
	got, err := readFeed(f.runner, f.k.name, 0, after[0], limit)
	return got.Games, readapi.Marks{got.UpTo}, got.Gone, err
}

func (f feed) Changed() <-chan struct{} { return f.k.games.wait() }

// feedPage is a page of the feed of one journal.
type feedPage struct {
	Games []readapi.Ended `json:",omitempty"`
	UpTo  uint64
	End   uint64
	Gone  bool `json:",omitempty"` // some games are no longer there, or never were
}

// readFeed reads the finished games of a profile in a journal that is a part of its feed.
func readFeed(r *runner.Runner, profile string, part int, after uint64, limit int) (feedPage, error) {
	rows, upTo, gone, err := journal.ReadFeed(r, profile, after, limit)
	page := feedPage{UpTo: upTo, End: journal.FeedEnd(r), Games: make([]readapi.Ended, len(rows))}
	page.Gone = gone || after > page.End
	for i, r := range rows {
		page.Games[i] = readapi.Ended{
			Part: part, Seq: r.Seq, Board: r.Board, Winner: r.Winner, Reason: r.Reason, Plies: r.Plies, Seconds: r.Seconds, Finished: r.Finished,
		}
	}
	return page, err
}

// placedFeed is the finished games of a profile in a placed world. Those of a part are in
// the part's journal, wherever that is: so a part that moves, or whose machine is lost, goes
// on where it was.
type placedFeed struct {
	s *Server
	k *supervisor
}

func (f placedFeed) Parts() int { return 1 + len(f.k.siblings) }

// Name is made of those of all journals.
func (f placedFeed) Name() (string, error) {
	h := fnv.New32a()
	for part := range f.Parts() {
		name := f.s.placing.abroad.outboxOf(part).Journal
		if p := f.s.partOf(part); p != nil {
			name = feedName(p.runner)
		}
		if name == "" {
			return "", readapi.ErrStarting
		}
		h.Write([]byte(name))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (f placedFeed) Changed() <-chan struct{} { return f.k.games.wait() }

// End is as all machines have said with their last beats. What has ended since is behind it.
func (f placedFeed) End(context.Context) (readapi.Marks, error) {
	m := make(readapi.Marks, f.Parts())
	for part := range m {
		m[part] = f.s.placing.abroad.outboxOf(part).End
		if p := f.s.partOf(part); p != nil {
			m[part] = journal.FeedEnd(p.runner)
		}
	}
	return m, nil
}

func (f placedFeed) Read(ctx context.Context, after readapi.Marks, limit int) (games []readapi.Ended, upTo readapi.Marks, gone bool, err error) {
	q := feedQuestion{Profile: f.k.name, After: map[int]uint64{}, Limit: limit}
	for part, seq := range after {
		q.After[part] = seq
	}
	pages := f.s.askParts(ctx, q)
	if len(pages) == 0 {
		return nil, after, false, readapi.ErrStarting
	}
	upTo = slices.Clone(after)
	var all []readapi.Ended
	for part, page := range pages {
		upTo[part], gone = page.UpTo, gone || page.Gone
		all = append(all, page.Games...)
	}
	if gone {
		return nil, after, true, nil
	}
	slices.SortFunc(all, func(a, b readapi.Ended) int {
		return cmp.Or(a.Finished.Compare(b.Finished), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Seq, b.Seq))
	})
	inOrder(all)
	if len(all) > limit {
		for _, g := range slices.Backward(all[limit:]) {
			upTo[g.Part] = g.Seq - 1
		}
		all = all[:limit]
	}
	return all, upTo, false, nil
}

// inOrder gives the games of each part the places that they have together in the order of
// their numbers: clocks of machines may differ.
func inOrder(all []readapi.Ended) {
	places := map[int][]int{}
	for i, g := range all {
		places[g.Part] = append(places[g.Part], i)
	}
	for _, at := range places {
		games := make([]readapi.Ended, len(at))
		for n, i := range at {
			games[n] = all[i]
		}
		slices.SortFunc(games, func(a, b readapi.Ended) int { return cmp.Compare(a.Seq, b.Seq) })
		for n, i := range at {
			all[i] = games[n]
		}
	}
}

// feedQuestion asks a machine for finished games of its parts.
type feedQuestion struct {
	Profile string
	After   map[int]uint64 // by part
	Limit   int
}

const (
	feedPatience = 2 * time.Second // of a reader with a machine that does not answer
	feedAnswer   = 1000            // games in the answer of a machine
)

// askParts reads parts of the feed wherever they are. One that cannot be read now is
// missing.
func (s *Server) askParts(ctx context.Context, q feedQuestion) map[int]feedPage {
	pages := s.readParts(q)
	asked := map[string]feedQuestion{}
	for part, after := range q.After {
		node, _, here := s.places.owner(part)
		if _, known := pages[part]; known || here || node == "" {
			continue
		}
		if asked[node].After == nil {
			asked[node] = feedQuestion{q.Profile, map[int]uint64{}, q.Limit}
		}
		asked[node].After[part] = after
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(ctx, feedPatience)
	defer cancel()
	for node, q := range asked {
		all.Go(func() {
			guard.Run("a question to another machine", func() {
				var got map[int]feedPage
				if s.junction.ask(ctx, node, "feed", q, &got) != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				for part, page := range got {
					if _, wanted := q.After[part]; wanted {
						pages[part] = page
					}
				}
			}, s.caught)
		})
	}
	all.Wait()
	return pages
}

// readParts reads those parts of the feed that are here.
func (s *Server) readParts(q feedQuestion) map[int]feedPage {
	pages := map[int]feedPage{}
	for part, after := range q.After {
		if part < 0 || part >= s.parts() {
			continue
		}
		p := s.partOf(part)
		if p == nil {
			continue
		}
		page, err := readFeed(p.runner, q.Profile, part, after, q.Limit)
		if holds := p.holds(); err == nil && holds() { // so nobody had newer ones when it was read
			pages[part] = page
		}
	}
	return pages
}

// answerFeed answers another machine. What has no room comes with the next question.
func (s *Server) answerFeed(question []byte) ([]byte, error) {
	var q feedQuestion
	if err := json.Unmarshal(question, &q); err != nil {
		return nil, err
	}
	if len(q.After) == 0 || len(q.After) > len(s.placing.parts) {
		return nil, fmt.Errorf("%d parts are asked for", len(q.After))
	}
	q.Limit = max(1, min(q.Limit, feedAnswer/len(q.After)))
	return json.Marshal(s.readParts(q))
}

// outbox is what is known of the feed in the journal of a part.
type outbox struct {
	Journal string `json:",omitempty"` // its name; "": it is not known
	End     uint64 `json:",omitempty"`
}

// outboxes are those of all parts, as they were last known. They may be used by anybody.
type outboxes struct {
	mu  sync.Mutex
	all map[int]outbox
}

func (o *outboxes) outboxOf(part int) outbox {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all[part]
}

// learn takes what somebody says of a part, and reports whether games have ended.
func (o *outboxes) learn(part int, said outbox) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.all[part]
	if said.Journal == "" || said == known || said.Journal == known.Journal && said.End < known.End {
		return false
	}
	if o.all == nil {
		o.all = map[int]outbox{}
	}
	o.all[part] = said
	return true
}

package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/client"
	"wamble/internal/admin"
	"wamble/internal/profile"
	"wamble/internal/store"
	"wamble/wire"
)

// behaviours has what players and hosts may expect in every topology. They run one after
// another on one deployment.
var behaviours = []struct {
	name string
	// not has the topologies for which the behaviour makes no sense, with the reason.
	not      map[*topology]string
	scenario func(d *deployment)
}{
	{"one key is one player", nil, oneKeyIsOnePlayer},
	{"games count once", map[*topology]string{
		twoMachines: "a note or the database is first: see TestTwoMachinesCountOnce"}, gamesCountOnce},
	{"one name has one player", nil, oneNameHasOnePlayer},
	{"a player is merged into another", nil, playerIsMerged},
	{"a player is erased", nil, playerIsErased},
	{"a watcher sees every board", map[*topology]string{
		twoProfiles: "a watcher sees the boards of one profile"}, watcherSeesEveryBoard},
	{"the host announces and kicks", nil, hostAnnouncesAndKicks},
	{"old sessions are deleted", nil, oldSessionsAreDeleted},
	{"a ban lasts until it is lifted", nil, banLasts},
}

// TestBehaviours runs each behaviour in each topology; with one loop also with the games in
// PostgreSQL, as TestBehavioursInPostgres does with the others. A standby is one loop until it takes over: see TestInterruptions.
func TestBehaviours(t *testing.T) {
	t.Parallel()
	for _, tp := range []*topology{oneLoop, twoProfiles, fourShards, twoMachines} {
		t.Run(tp.name, func(t *testing.T) {
			t.Parallel()
			tp.deploy(t, false, "(def retention-days 30)\n").runBehaviours()
		})
		if tp != twoProfiles { // each has house bots of its own
			t.Run(tp.name+" with house bots", func(t *testing.T) {
				t.Parallel()
				houseBotsMakeWay(tp.deploy(t, false, "(def house-bots 4) (def session-timeout 60)\n"))
			})
		}
		if tp == oneLoop {
			t.Run(tp.name+" with PostgreSQL", func(t *testing.T) {
				t.Parallel()
				tp.deploy(t, true, "(def retention-days 30)\n").runBehaviours()
			})
		}
	}
}

// runBehaviours runs the behaviours that make sense for the topology.
func (d *deployment) runBehaviours() {
	for _, b := range behaviours {
		if b.not[d.topology] == "" {
			d.whole.Run(b.name, func(t *testing.T) {
				d.T = t
				b.scenario(d)
			})
		}
	}
}

// oneKeyIsOnePlayer: the first logins of a key at once in all places make one player, to whom
// all sessions belong, with one name.
func oneKeyIsOnePlayer(d *deployment) {
	const keys = 4
	var all sync.WaitGroup
	private, players := [keys]ed25519.PrivateKey{}, [keys][]*player{}
	for i := range keys {
		_, private[i], _ = ed25519.GenerateKey(nil)
		players[i] = d.joinAll()
		for _, p := range players[i] {
			all.Go(func() { p.loginAs(d.ctx, private[i]) })
		}
	}
	all.Wait()
	for i := range keys {
		handle, sessions := players[i][0].stats(d.ctx).Handle, map[wamble.SessionID]bool{}
		for place, p := range players[i] {
			got := p.stats(d.ctx)
			if got.Handle != handle || handle == "" {
				d.Errorf("one key is %q in place %d and %q in the first", got.Handle, place, handle)
			}
			sessions[wamble.SessionID(got.Session)] = true
		}
		// One that gets no answer for long begins another session, and leaves the player one more.
		until(d, "all sessions are the player's", func() bool {
			list := d.dossier(keyOf(private[i]))
			if len(list) != 1 || list[0].Name != handle {
				return false
			}
			for _, s := range list[0].Sessions {
				delete(sessions, s.Session)
			}
			return len(sessions) == 0
		})
	}
	d.awaitStored()
}

// keyOf returns the public key in the form in which a host names a player.
func keyOf(private ed25519.PrivateKey) string {
	return hex.EncodeToString(private.Public().(ed25519.PublicKey))
}

// gamesCountOnce: a player who has moved in one place has moved on as many boards in the
// others when they log in there.
func gamesCountOnce(d *deployment) {
	p := d.join(0)
	private := p.login(d.ctx)
	until(d, "the player moves", func() bool { return p.move(d.ctx) && p.moves.Load() > 0 })
	for place := 1; place < d.places; place++ {
		other := d.join(place)
		other.loginAs(d.ctx, private)
		until(d, fmt.Sprintf("in place %d the player has moved on one board", place), func() bool {
			got, want := other.stats(d.ctx), p.stats(d.ctx)
			return got.Games == 1 && want.Games == 1 && got.Handle == want.Handle
		})
	}
}

// oneNameHasOnePlayer: of two players who choose one name at once in two places one has it,
// and the other is told that it is taken. A player's former name is free when they have
// another one.
func oneNameHasOnePlayer(d *deployment) {
	const names = 4
	var pairs [names][2]*player
	var errs [names][2]error
	var all sync.WaitGroup
	for i := range pairs {
		pairs[i] = [2]*player{d.join(0), d.join(1)}
		for j, p := range pairs[i] {
			p.login(d.ctx)
			all.Go(func() { errs[i][j] = p.rename(d.ctx, []string{"Ann", "aNN"}[j]+fmt.Sprint(i)) })
		}
	}
	all.Wait()
	for i, pair := range pairs {
		winner := 0
		if errs[i][0] != nil {
			winner = 1
		}
		denied := errs[i][1-winner]
		if errs[i][winner] != nil || client.DeniedCode(denied) != wamble.AccessDenied ||
			!strings.Contains(denied.Error(), "taken") {
			d.Fatalf("name %d: one was told %v, the other one %v", i, errs[i][0], errs[i][1])
		}
		if got := pair[winner].stats(d.ctx).Handle; !strings.EqualFold(got, fmt.Sprint("ann", i)) {
			d.Errorf("who got the name is called %q", got)
		}
		if got := pair[1-winner].stats(d.ctx).Handle; !strings.HasPrefix(got, "h_") {
			d.Errorf("who did not get the name is called %q", got)
		}
		until(d, "the store has the name", func() bool { return len(d.dossier(fmt.Sprint("ann", i))) == 1 })
	}
	// The host takes a name from its player, and other machines are not told yet.
	winner := 0
	if errs[0][0] != nil {
		winner = 1
	}
	d.first().command("rename", admin.Arguments{Whom: pairs[0][winner].stats(d.ctx).Handle, Name: "Carl"})
	free := func() bool { return pairs[0][1-winner].rename(d.ctx, "ANN0") == nil }
	if d.machines == 0 { // one server may answer what its store has not heard yet
		until(d, "the name is free", free)
	} else if !free() {
		d.Error("the name is not free")
	}
	d.awaitStored()
}

// rename asks for a name, again as long as the database does not answer in time: on a machine
// with much else to do it may not.
func (p *player) rename(ctx context.Context, name string) error {
	for {
		_, err := p.c.SetName(ctx, name)
		if client.DeniedCode(err) != wamble.Internal {
			return err
		}
	}
}

// playerIsMerged: two players of one person become one in all places: the merged session goes
// on as the remaining player, with the games of both; the other key logs in as that player,
// after a restart too; and the other name is free.
func playerIsMerged(d *deployment) {
	phone, desk := d.join(0), d.join(1)
	private := phone.login(d.ctx)
	desk.login(d.ctx)
	for _, p := range []*player{phone, desk} {
		until(d, "the player moves", func() bool { return p.move(d.ctx) && p.moves.Load() > 0 })
		until(d, "the store has the game", func() bool { return p.stats(d.ctx).Games == 1 })
	}
	from, into := phone.stats(d.ctx), desk.stats(d.ctx)
	is := func(what string, p *player) {
		d.Helper()
		until(d, what, func() bool {
			got := p.stats(d.ctx)
			return got.Handle == into.Handle && got.Games == from.Games+into.Games
		})
	}
	d.awaitStored()
	d.pause(true) // so the store does not have the merge
	if got := d.first().command("merge", admin.Arguments{Whom: from.Handle, Into: into.Handle}); len(got) != 1 {
		d.Errorf("merged in %v", got)
	}
	if err := admin.Ask(d.ctx, d.first().dir, "merge", admin.Arguments{Whom: keyOf(private), Into: into.Handle},
		&struct{}{}); err == nil {
		d.Error("they were merged twice")
	}
	d.pause(false)
	is("who plays goes on as the other one", phone)
	is("who stays has the games of both", desk)
	again := d.join(d.places - 1)
	again.loginAs(d.ctx, private)
	is("the other key is theirs", again)
	d.restart()
	is("their session after a restart", join(d, d.address(0), phone.c.Token()))
	last := d.join(0)
	last.loginAs(d.ctx, private)
	is("the other key after a restart", last)
	d.first().command("rename", admin.Arguments{Whom: into.Handle, Name: from.Handle})
	if got := last.stats(d.ctx); got.Handle != from.Handle {
		d.Errorf("the other name is not free: the player is called %s", got.Handle)
	}
	d.last().command("erase", admin.Arguments{Whom: keyOf(private)})
	notice(d, last, wire.NoticeSessionExpired)
}

// pause stops or restarts the drains from all journals to the store.
func (d *deployment) pause(paused bool) {
	for _, h := range d.servers {
		h.pause(paused)
	}
}

// playerIsErased: an erased player's sessions end in all places, and what they did a moment
// before does not come back. Who logs in again at once, before other machines are told of the
// erasure, is a new player and stays one.
func playerIsErased(d *deployment) {
	players := d.joinAll()
	private := players[0].login(d.ctx)
	for _, p := range players[1:] {
		p.loginAs(d.ctx, private)
	}
	key := wamble.PublicKey(private.Public().(ed25519.PublicKey))
	d.awaitStored()
	old, err := d.games().Player(d.ctx, key)
	if err != nil {
		d.Fatal(err)
	}
	if err := admin.Ask(d.ctx, d.first().dir, "erase", admin.Arguments{Whom: "nobody"}, new(admin.Counts)); err == nil {
		d.Error("nobody was erased")
	}
	erased := func() int { return total(d.first().command("erase", admin.Arguments{Whom: keyOf(private)})) }
	if n := erased(); n != 1 {
		d.Errorf("%d identities were erased, want one", n)
	}
	again := d.join(0)
	again.loginAs(d.ctx, private)
	for _, p := range players {
		if got := notice(d, p, wire.NoticeSessionExpired); !strings.Contains(got, "deleted") {
			d.Errorf("the player was told %q", got)
		}
	}
	// The note of the erasure has come to all machines when this announcement has.
	d.last().command("announce", admin.Arguments{Text: "the end"})
	notice(d, again, wire.NoticeAnnouncement)
	if got := again.stats(d.ctx).Handle; got == "" || got == old.Handle {
		d.Errorf("who is new is called %q, and was called %q", got, old.Handle)
	}
	d.awaitStored()
	if now, err := d.games().Player(d.ctx, key); err != nil || now.ID == old.ID {
		d.Errorf("the store has %+v, %v; it was player %d", now, err, old.ID)
	}
	for place, p := range players {
		if _, err := d.games().Session(d.ctx, p.c.Token()); !errors.Is(err, store.ErrNotFound) {
			d.Errorf("got %v; want no session", err)
		}
		if token := p.c.Token(); join(d, d.address(place), token).c.Token() == token {
			d.Error("the erased player's token is valid")
		}
	}
	if n := erased(); n != 1 {
		d.Errorf("%d new identities were erased, want one", n)
	}
	until(d, "the identity is deleted", func() bool {
		_, err := d.games().Player(d.ctx, key)
		return errors.Is(err, store.ErrNotFound)
	})
	if n := erased(); n != 0 {
		d.Errorf("erased once more: %d identities, want none", n)
	}
	d.awaitStored()
}

// total adds up what a command has done in all profiles.
func total(counts admin.Counts) (n int) {
	for _, of := range counts {
		n += int(of)
	}
	return n
}

// hostAnnouncesAndKicks: what a host says at one server players are told in all places, and
// somebody who is kicked there is gone, but may come back.
func hostAnnouncesAndKicks(d *deployment) {
	players := d.joinAll()
	if n := total(d.first().command("announce", admin.Arguments{Text: "tea is served"})); d.machines == 0 &&
		n < len(players) {
		d.Errorf("announced to %d of %d", n, len(players))
	}
	for place, p := range players {
		if got := notice(d, p, wire.NoticeAnnouncement); got != "tea is served" {
			d.Errorf("in place %d a player was told %q", place, got)
		}
	}
	last := players[d.places-1]
	if n := total(d.first().command("kick",
		admin.Arguments{Whom: last.c.Token().String(), Text: "too loud"})); d.machines == 0 && n != 1 {
		d.Errorf("%d players were kicked, want one", n)
	}
	if got := notice(d, last, wire.NoticeSessionExpired); !strings.Contains(got, "too loud") {
		d.Errorf("the player was told %q", got)
	}
	for place := range d.places {
		if refused := turnedAway(d, d.address(place)); refused != nil {
			d.Errorf("after a kick a newcomer is told %v", refused)
		}
	}
	if !players[0].move(d.ctx) {
		d.Error("somebody else was kicked")
	}
}

// banLasts: a ban and a brown-out that are ordered at one server hold in all places, after a
// crash of the profile and after a restart too, until they are lifted.
func banLasts(d *deployment) {
	players := d.joinAll()
	d.last().command("ban", admin.Arguments{Whom: "127.0.0.0/8", Text: "spam"})
	d.last().command("ban", admin.Arguments{Whom: "192.0.2.1", Until: time.Now().Add(time.Hour)})
	d.last().command("brownout", admin.Arguments{Brownout: profile.Brownout{NoPredictions: true, SlowWatching: true}})
	banned := func(when string) {
		d.Helper()
		for place := range d.places {
			d.holds(when+" a newcomer is refused", func() bool {
				refused := turnedAway(d, d.address(place))
				return refused != nil && refused.Code == wamble.AccessDenied && strings.Contains(refused.Reason, "spam")
			})
		}
		for _, h := range d.servers {
			for i := range h.Status(d.ctx).Profiles {
				d.holds(when+" the status has it", func() bool {
					st := h.Status(d.ctx).Profiles[i]
					return st.Bans == 2 && strings.Join(st.Brownout, " ") == "no-predictions slow-watching"
				})
			}
		}
	}
	banned("at once")
	for _, p := range players {
		if _, err := p.c.Hello(d.ctx); client.DeniedCode(err) != wamble.AccessDenied {
			d.Errorf("a player who was there is told %v", err)
		}
	}
	if d.machines == 0 { // a shard that crashes may be another machine's
		d.first().crash("a test")
		until(d, "the profile has failed and is back", func() bool {
			n, _ := d.first().first().shards[0].failures()
			up, _ := d.first().first().Stage()
			return n == 1 && up
		})
		banned("after a crash")
	}
	d.restart()
	banned("after a restart")
	d.first().command("unban", admin.Arguments{Whom: "127.0.0.0/8"})
	for place := range d.places {
		d.holds("the ban is lifted", func() bool { return turnedAway(d, d.address(place)) == nil })
	}
	for _, h := range d.servers {
		d.holds("the ban is forgotten", func() bool { return len(h.first().restrictions.Bans()) == 1 })
	}
}

// houseBotsMakeWay: house bots are as many as the profile wants, over all shards and machines;
// one leaves for each person who comes, and comes back when the person has left. A handoff
// that is aborted starts none on a machine that had none.
func houseBotsMakeWay(d *deployment) {
	var people []*player
	// A bot whose goodbye is not answered in time counts until its session ends; people stay
	// because they say hello.
	stay := func() {
		d.Helper()
		for _, p := range people {
			if _, err := p.c.Hello(d.ctx); err != nil {
				d.Fatal(err)
			}
		}
	}
	bots := func(want int) {
		d.Helper()
		defer d.describe()
		until(d, fmt.Sprintf("%d bots are here", want), func() bool {
			stay()
			n := 0
			for _, h := range d.servers {
				n += h.first().Figures(d.ctx).Gauges.Bots
			}
			return n == want
		})
	}
	bots(4)
	if d.machines > 0 {
		for _, h := range d.servers {
			h.pauseHTTP(d.ctx, 0)
			h.resumeHTTP()
		}
		if (d.first().first().bots.Load() == nil) == (d.last().first().bots.Load() == nil) {
			d.Error("not one of the machines has house bots")
		}
		bots(4)
	}
	people = []*player{join(d, d.address(0), wamble.Token{}), join(d, d.address(1), wamble.Token{})}
	bots(2)
	defer d.describe()
	for _, h := range d.servers {
		until(d, "both people are counted", func() bool {
			stay()
			c, err := h.first().counts(d.ctx)
			return err == nil && c.Players-c.Bots == 2
		})
	}
	if err := people[0].c.Goodbye(d.ctx); err != nil {
		d.Fatal(err)
	}
	people = people[1:]
	bots(3)
	for _, h := range d.servers {
		h.end()
	}
}

// describe logs who is where if the test has failed.
func (d *deployment) describe() {
	if !d.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, h := range d.servers {
		c, err := h.first().counts(ctx)
		d.Logf("counts %+v, %v; of other machines %+v", c, err, h.first().peers.Counts(h.first().name).Sum())
		for _, sh := range h.first().shards {
			d.Logf("shard %d: %+v", sh.index, sh.runtime.Figures(ctx).Gauges)
		}
	}
}

// watcherSeesEveryBoard: a client watches all boards, among them those of another shard or
// machine, then one of them, and stops: over UDP and WebSocket.
func watcherSeesEveryBoard(d *deployment) {
	for _, address := range []string{d.address(0), "ws://" + d.first().Addresses().HTTP.String() + "/ws"} {
		watcher, place := join(d, address, wamble.Token{}).c, 1
		if d.topology == fourShards {
			place = (watcher.Token().Shard(4) + 1) % 4
		}
		player := d.join(place).c
		w, err := watcher.Spectate(d.ctx, client.View{})
		if err != nil {
			d.Fatal(err)
		}
		sees := func(what string, ok func(client.Update) bool) {
			d.Helper()
			for {
				got, err := w.Next(d.ctx)
				if err != nil {
					d.Fatalf("%s: %v", what, err)
				}
				if ok(got) {
					return
				}
			}
		}
		sees("the beginning", func(u client.Update) bool { return u.Reset && u.State == "summary" && u.Generation > 0 })
		on := player.Board().ID
		sees("the player's board", func(u client.Update) bool { return u.Board.ID == on })
		after := play(d.T, d.ctx, player)
		sees("the move", func(u client.Update) bool {
			return u.Board.ID == on && u.Board.FEN == after && u.Board.LastMove != nil
		})
		on = player.Board().ID
		d.holds("the player's next board is known",
			func() bool { return w.SetView(d.ctx, client.View{Board: on}) == nil })
		sees("the board alone", func(u client.Update) bool { return u.Board.ID == on && u.State == "focus" })
		after = play(d.T, d.ctx, player)
		sees("a move there", func(u client.Update) bool { return u.Board.ID == on && u.Board.FEN == after })
		if err := w.SetView(d.ctx, client.View{Board: 1 << 40}); client.DeniedCode(err) != wamble.SpectateUnavailable {
			d.Errorf("no board: got %v, want %v", err, wamble.SpectateUnavailable)
		}
		if err := w.Stop(d.ctx); err != nil {
			d.Fatal(err)
		}
		for err == nil { // what came before
			_, err = w.Next(d.ctx)
		}
		if err != client.ErrStopped {
			d.Errorf("got %v, want %v", err, client.ErrStopped)
		}
	}
}

package web_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wamble/client"
	"wamble/internal/intent"
	"wamble/internal/journal"
	"wamble/runner"
	"wamble/runner/pebblestore"
)

// bury puts a refused move into the dead letters of a journal before its server starts.
func bury(t testing.TB) func(data string) {
	return func(data string) {
		t.Helper()
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		r, err := runner.Open(pebblestore.At(filepath.Join(data, "journal"), pebblestore.Options{}),
			runner.Options{Create: true, Schema: journal.Schema})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		ctx := t.Context()
		worker, err := journal.WorkerOf(ctx, r, "default")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Post(ctx, r, worker,
			&intent.RecordMove{Board: 4711, Session: 7, UCI: "e2e4", Ply: 1, First: true, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		w, err := r.NewWorker(uint64(worker),
			runner.WorkerOptions{Handler: func(context.Context, *runner.Tx, *runner.Delivery) error {
				return runner.Discard(errors.New("there is no board 4711"))
			}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Tick(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// console opens the host's console for a person.
func (h *host) console(p *person) {
	h.t.Helper()
	token, err := os.ReadFile(filepath.Join(h.dir, "data", "admin-token"))
	if err != nil {
		h.t.Fatal(err)
	}
	p.open(h.admin + "/")
	p.until(`document.querySelector('#token')`)
	p.pastes("#token", strings.TrimSpace(string(token)))
	p.press(".door .main")
	p.until(`document.querySelector('tr[data-profile="default"]')`)
}

// TestDeadLetters: a message that the database refused is shown with the error, tried again,
// refused again, and dropped.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(""), bury(t))
	p := meet(t, screen{width: 1440, height: 1000})
	h.console(p)
	p.until(`document.querySelector('[data-letter]')`)
	first := see[string](p, `document.querySelector('[data-letter]').dataset.letter`)
	p.press(`[data-letter] summary`)
	p.reads("[data-letter] pre", "4711")
	p.press(`[data-letter] [data-command="replay"]`)
	p.press(`[data-action="confirm"]`)
	p.until(fmt.Sprintf(`document.querySelector('[data-letter]') && document.querySelector('[data-letter]').dataset.letter !== %q`, first))
	p.press(`[data-letter] [data-command="drop"]`)
	p.press(`[data-action="confirm"]`)
	p.until(`!document.querySelector('[data-letter]')`)
	p.reads(".audit", "dead-letter-replay")
	p.reads(".audit", "dead-letter-drop")
}

// TestConsole: the host signs in with the token, sees the running server, acts on it after a
// confirmation, and finds the command in the audit log.
func TestConsole(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 24)`))
	release(t, h, 2, 500*time.Millisecond)
	player := meet(t, desk)
	player.sit(h.url)

	p := meet(t, screen{width: 1440, height: 1000})
	p.forgive("401") // the wrong token
	p.open(h.admin + "/")
	p.until(`document.querySelector('#token')`)
	p.audit("the console's door")
	p.types("#token", "wrong")
	p.press(".door .main")
	p.until(`document.querySelector('.door [role="alert"]')`)
	h.console(p)
	p.until(`document.querySelectorAll('.uplot').length === 3`)
	p.reads(".plot .u-legend, .plot [role=img]", "")

	p.types("#announce-text", "Tea is served")
	p.press(`[data-form="announce"] button[type="submit"]`)
	p.reads("dialog", "Tea is served")
	p.audit("the console")
	p.press(`[data-action="confirm"]`)
	player.told("Tea is served")
	p.reads(".audit", "Tea is served")
	p.until(`document.querySelector('#announce-text').value === ''`)

	p.press(`.switches summary`)
	p.press(`.switches label:nth-of-type(2) input`)
	p.press(`.switches button`)
	p.press(`[data-action="confirm"]`)
	p.reads(`.switches summary`, "no-predictions")

	p.press(`[data-command="drain"]`)
	p.press(`[data-action="confirm"]`)
	p.until(`document.querySelector('[data-command="drain"][aria-pressed="true"]')`)
	p.press(`[data-command="drain"]`)
	p.press(`[data-action="confirm"]`)
	p.until(`document.querySelector('[data-command="drain"][aria-pressed="false"]')`)

	p.until(`document.querySelector('[data-page="config"] [data-changes="0"]')`)
	p.reads(`[data-option="min-boards"]`, "24 boards")
	p.reads(`[data-option="min-boards"]`, "wamble.conf:")
	h.write(conf(`(def min-boards 25)`))
	p.until(`document.querySelector('[data-page="config"] [data-changes="1"]')`)
	p.reads(`[data-changes]`, "25 boards")
	p.press(`[data-command="reload"]`)
	p.reads("dialog", "min-boards 24 boards → 25 boards")
	p.press(`[data-action="confirm"]`)
	p.reads(".audit", "reload")
	p.reads(".log", "reloaded")
	p.until(`document.querySelector('[data-page="config"] [data-changes="0"]')`)
	see[bool](p, `(scrollTo(0, 0), true)`)

	p.outage() // a request of the console to the old process may get no answer: it repeats it at the next one
	p.press(`[data-command="handoff"]`)
	p.press(`[data-action="confirm"]`)
	p.told("Done", " gap")
	p.reads(`[data-fact="Last handoff"]`, " gap")
	p.reads(".audit", "handoff")
	player.ready()
	board := player.board()
	player.playAny(byClick)
	if player.board() == board {
		t.Error("after the handoff the player's move was not played")
	}

	p.types("#players-whom", "127.0.0.1")
	p.press(`[data-command="kick"]`)
	p.reads("dialog", "127.0.0.1")
	p.press(`[data-action="confirm"]`)
	p.reads(".audit", "kick")
	p.told("Done: Kick. default: ")
}

// TestBan: a banned player is turned away and told why; when the ban is lifted they may begin
// anew.
func TestBan(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	player, p := meet(t, desk), meet(t, screen{width: 1440, height: 1000})
	player.outage()
	player.sit(h.url)
	player.playAny(byClick)
	token := see[string](player, `localStorage.getItem('wamble.token')`)
	h.console(p)
	p.reads("section", "Nobody is banned.")
	p.press(`[data-form="players"] [data-command="ban"]`)
	if see[bool](p, `Boolean(document.querySelector('dialog'))`) {
		t.Error("nobody is named, and a ban is asked for")
	}
	p.pastes("#players-whom", token)
	p.types("#players-text", "Bots are not welcome")
	p.press(`[data-form="players"] [data-command="ban"]`)
	p.reads("dialog", "turned away")
	p.press(`[data-action="confirm"]`)
	p.told("Done: Ban. default: 1")
	p.until(`document.querySelector('[data-ban]')`)
	p.audit("bans")
	player.reads(".banner.bad", "Bots are not welcome")

	p.press(`[data-ban] [data-command="lift"]`)
	p.press(`[data-action="confirm"]`)
	p.until(`!document.querySelector('[data-ban]')`)
	p.reads(".audit", "unban")
	// The page asks again by itself, too, so that the button may be gone by now.
	see[bool](player, `(document.querySelector('.banner button')?.click(), true)`)
	player.until(`!document.querySelector('.banner')`)
	player.told("You are a new player now")
	player.ready()
	player.playAny(byClick)
}

// TestRemove: the host ends a game, whose player gets another board, and deletes an identity.
func TestRemove(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	player, p := meet(t, desk), meet(t, screen{width: 1440, height: 1000})
	player.sit(h.url)
	board := player.board()
	h.console(p)
	p.until(`document.querySelector('[data-form="remove"]')`)
	p.press(`[data-form="remove"] [data-command="archive"]`)
	p.press(`[data-form="remove"] [data-command="erase"]`)
	if see[bool](p, `Boolean(document.querySelector('dialog'))`) {
		t.Error("nothing is named, and yet it is to be removed")
	}
	p.types("#remove-board", board)
	p.press(`[data-form="remove"] [data-command="archive"]`)
	p.reads("dialog", "The game of board "+board+" ends")
	p.press(`[data-action="confirm"]`)
	p.told("Done: End the game. default: 1")
	p.until(`document.querySelector('#remove-board').value === ''`)
	player.until(fmt.Sprintf(`%s && document.querySelector('.stage').dataset.board !== %q`, readyStage, board))

	p.pastes("#remove-whom", strings.Repeat("5a", 32))
	p.press(`[data-form="remove"] [data-command="erase"]`)
	p.reads("dialog", "This cannot be undone.")
	p.audit("removing")
	p.press(`[data-action="confirm"]`)
	p.told("Done: Erase the player. default: 0")
	p.reads(".audit", "erase")
}

// TestPlayersPage: the host looks for a player by the beginning of their key, sees the data
// about them, trusts and renames them, ends one of their sessions, then the rest, and merges
// another player into them, who is the same person.
func TestPlayersPage(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public := hex.EncodeToString(key.Public().(ed25519.PublicKey))
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	for _, key := range []ed25519.PrivateKey{key, key, key, other} {
		c, err := client.Dial(t.Context(), h.udp)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Login(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	p := meet(t, screen{width: 1440, height: 1000})
	p.forgive("500") // a search for nothing
	h.console(p)
	p.types("#players-query", "??")
	p.press(`[aria-labelledby="people"] > .search button`)
	p.reads(`[aria-labelledby="people"] > [role="alert"]`, "look for a name")
	p.retypes("#players-query", public[:8])
	p.press(`[aria-labelledby="people"] > .search button`)
	person := fmt.Sprintf(`[data-person=%q]`, public)
	p.press(person + " button")
	p.until(`document.querySelectorAll('[data-session]').length === 3`)
	p.reads("[data-dossier]", public)
	p.audit("a player")
	p.types("#trust-"+public, "7")
	p.press(`[data-dossier] .forms form:first-child button`)
	p.press(`[data-action="confirm"]`)
	p.until(`[...document.querySelectorAll('[data-session] td:nth-child(2)')].every((x) => x.textContent === '7')`)
	p.types("#rename-"+public, "Ada_1")
	p.press(`[data-dossier] .forms form:last-child button`)
	p.press(`[data-action="confirm"]`)
	p.reads("[data-dossier] h3", "Ada_1")
	p.press(`[data-session] [data-command="end"]`)
	p.reads("dialog", "its token is void")
	p.press(`[data-action="confirm"]`)
	p.until(`document.querySelectorAll('[data-session]').length === 2`)
	p.press(`[data-command="end-all"]`)
	p.press(`[data-action="confirm"]`)
	p.reads("[data-dossier]", "No session of this player can be resumed.")
	p.reads(".audit", "revoke")
	p.pastes("#merge-whom", hex.EncodeToString(other.Public().(ed25519.PublicKey)))
	p.types("#merge-into", "Ada_1")
	p.press(`[data-form="merge"] [data-command="merge"]`)
	p.reads("dialog", "is Ada_1 from now on")
	p.press(`[data-action="confirm"]`)
	p.until(`document.querySelectorAll('[data-session]').length === 1`)
	p.reads(".audit", "merge")
}

// TestConsoleOnPhone: on a narrow screen nothing of the console is cut off, boards are found,
// and charts of hours are there.
func TestConsoleOnPhone(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	player := meet(t, desk)
	player.sit(h.url)
	p := meet(t, phone)
	h.console(p)
	p.until(`document.querySelectorAll('.uplot').length === 3`)
	p.press(`[data-command="boards"]`)
	p.until(`document.querySelectorAll('[data-board]').length >= 12`)
	p.types("#boards-query", "reserved")
	p.press(`[data-command="boards"]`)
	p.until(fmt.Sprintf(`document.querySelectorAll('[data-board]').length === 1 && document.querySelector('[data-board="%s"]')`, player.board()))
	p.until(`document.querySelector('[data-option="min-boards"]')`)
	for _, section := range []string{"profiles", "charts", "config", "boards", "audit"} {
		see[bool](p, fmt.Sprintf(`(document.getElementById(%q).scrollIntoView(), true)`, section))
	}
	for _, span := range []string{"days", "hour"} {
		p.press(fmt.Sprintf(`[data-range=%q]`, span))
		p.until(`document.querySelector('[data-points]')`)
	}
	if wide := see[[]string](p,
		`[...document.querySelectorAll('.desk *')].filter((e) => !e.closest('.uplot') && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML.slice(0, 120))`); len(wide) > 0 {
		t.Errorf("this lies beside the screen: %q", wide)
	}
	p.audit("the console on a phone")
}

// TestStandingAnnouncement: a lasting announcement is in a bar for present and later players,
// counts down, and disappears when the host withdraws it.
func TestStandingAnnouncement(t *testing.T) {
	t.Parallel()
	h := serve(t, conf(`(def min-boards 12)`))
	early := meet(t, desk)
	early.sit(h.url)
	p := meet(t, screen{width: 1440, height: 1000})
	h.console(p)
	p.types("#announce-text", "We move to a new machine")
	p.types("#announce-until", "2")
	p.press(`#announce-until + label.check input`)
	p.press(`[data-command="announce"]`)
	p.press(`[data-action="confirm"]`)
	p.reads("[data-announced]", "We move to a new machine")
	late := meet(t, desk)
	late.sit(h.url)
	for _, who := range []*person{early, late} {
		who.reads("[data-announcement]", "We move to a new machine")
		who.reads("[data-left]", "in 2 hours")
		if n := see[int](who, `document.querySelectorAll('[data-announcement]').length`); n != 1 {
			t.Errorf("it is shown %d times", n)
		}
	}
	late.audit("an announcement that stays")
	late.look(screen{width: 390, height: 844, touch: true, dark: true})
	p.press(`[data-command="withdraw"]`)
	p.press(`[data-action="confirm"]`)
	for _, who := range []*person{early, late} {
		who.until(`!document.querySelector('[data-announcement]')`)
	}
}

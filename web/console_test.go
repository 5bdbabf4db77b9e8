package web_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestConsole: the host enters with the token, sees what runs, acts on it after
// a second thought, and finds it in the audit log.
func TestConsole(t *testing.T) {
	h := serve(t, conf(`(def min-boards 24)`))
	release(t, h, 6, 100*time.Millisecond)
	token, err := os.ReadFile(filepath.Join(h.dir, "data", "admin-token"))
	if err != nil {
		t.Fatal(err)
	}
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
	see[bool](p, `(document.querySelector('#token').value = '', true)`)
	p.types("#token", strings.TrimSpace(string(token)))
	p.press(".door .main")
	p.until(`document.querySelector('tr[data-profile="default"]')`)
	p.until(`document.querySelectorAll('.uplot').length === 3`)
	p.reads(".plot .u-legend, .plot [role=img]", "")

	p.types("#announce-text", "Tea is served")
	p.press(`[data-form="announce"] button[type="submit"]`)
	p.reads("dialog", "Tea is served")
	p.audit("the console")
	p.shot("console-confirm")
	p.press(`[data-action="confirm"]`)
	player.reads(".toast", "Tea is served")
	p.reads(".audit", "Tea is served")

	p.press(`.switches summary`)
	p.press(`.switches label:nth-of-type(2) input`)
	p.press(`.switches button`)
	p.press(`[data-action="confirm"]`)
	p.reads(`.switches summary`, "no-predictions")

	p.press(`[data-verb="drain"]`)
	p.press(`[data-action="confirm"]`)
	p.until(`document.querySelector('[data-verb="drain"][aria-pressed="true"]')`)
	p.press(`[data-verb="drain"]`)
	p.press(`[data-action="confirm"]`)
	p.until(`document.querySelector('[data-verb="drain"][aria-pressed="false"]')`)

	p.press(`[data-verb="reload"]`)
	p.press(`[data-action="confirm"]`)
	p.reads(".audit", "reload")
	p.reads(".log", "reloaded")
	p.press(`[data-verb="ban"]`)
	if see[bool](p, `Boolean(document.querySelector('dialog'))`) {
		t.Error("nobody is named, and a ban is asked for")
	}
	see[bool](p, `(scrollTo(0, 0), true)`)
	p.shot("console")

	p.press(`[data-verb="handoff"]`)
	p.press(`[data-action="confirm"]`)
	p.reads(".toast", "Done")
	p.reads(".audit", "handoff")
	player.ready()
	board := player.board()
	uci := anyMove(player.fen(), rand.New(rand.NewPCG(13, 13)))
	player.move(byClick, uci[:2], uci[2:4])
	if player.board() == board {
		t.Error("after the handoff the player's move was not played")
	}
}

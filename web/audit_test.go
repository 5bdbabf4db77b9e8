package web_test

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
)

// axe is the accessibility checker that 'make web' installs for the tests.
var axe = sync.OnceValues(func() (string, error) {
	source, err := os.ReadFile("node_modules/axe-core/axe.min.js")
	return string(source), err
})

// finding is a fault that the checker has found in a page.
type finding struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Where []string `json:"where"`
}

// audit checks the page on the screen: names and roles, contrast, and that the focus follows
// the order of reading.
func (p *person) audit(view string) {
	p.t.Helper()
	source, err := axe()
	if err != nil {
		p.t.Fatal(err)
	}
	see[bool](p, source+"; true")
	text := await[string](p, `axe.run(document, {resultTypes: ['violations']}).then(r =>
		JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, where: v.nodes.map(n => n.html + ' ' + n.any.map(a => a.message).join(' '))}))))`)
	var findings []finding
	if err := json.Unmarshal([]byte(text), &findings); err != nil {
		p.t.Fatal(err)
	}
	for _, f := range findings {
		p.t.Errorf("%s: %s: %s\n%s", view, f.ID, f.Help, strings.Join(f.Where, "\n"))
	}
	if wide := see[int64](p, `document.documentElement.scrollWidth`); wide > p.screen.width {
		p.t.Errorf("%s: it is %d pixels wide on a screen of %d", view, wide, p.screen.width)
	}
	jump := see[string](p, focusOrder)
	if jump != "" {
		p.t.Errorf("%s: the focus jumps back to %s", view, jump)
	}
}

// focusOrder walks over the focusable elements as Tab does: without positive tab indexes that
// is the order of the document, so each must be visible and named.
const focusOrder = `(() => {
	const can = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
		.filter(e => !e.disabled && e.tabIndex >= 0 && e.checkVisibility());
	for (const e of can) {
		if (e.tabIndex > 0) return 'tabindex of ' + e.outerHTML.slice(0, 80);
		e.focus();
		if (document.activeElement !== e && !document.querySelector('dialog[open]')) return 'cannot focus ' + e.outerHTML.slice(0, 80);
	}
	return '';
})()`

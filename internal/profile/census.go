package profile

import "wamble"

// Census counts the boards by status; an archived one is no longer here. It
// looks at every board: about 20 ns each.
func (p *Profile) Census() (boards [wamble.Archived]int) {
	for b := range p.boards.All() {
		if s := b.Status(); s < wamble.Archived {
			boards[s]++
		}
	}
	return boards
}

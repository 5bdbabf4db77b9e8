package profile

import "wamble"

// Census counts the boards by status; an archived one is no longer here.
func (p *Profile) Census() [wamble.Archived]int { return p.boards.Census() }

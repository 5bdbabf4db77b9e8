package access

import (
	"golang.org/x/crypto/blake2b"

	"wamble/internal/config"
)

// Place is a profile that the host has configured.
type Place struct {
	config.Neighbour
	Terms Terms
}

// Terms are the terms of service of a place.
type Terms struct {
	Text string   // "": no terms
	Hash [32]byte // BLAKE2b-256 of the text: the id of the revision
}

func placeOf(n config.Neighbour) Place {
	return Place{n, Terms{n.Terms, blake2b.Sum256([]byte(n.Terms))}}
}

func (p *Place) scope() Scope { return Scope{Profile: p.Name, Group: p.Group, Open: p.Open} }

// Place returns the profile with a name, the own one for "", nil if it is unknown.
func (p *Policy) Place(name []byte) *Place {
	if len(name) == 0 || string(name) == p.Own.Name {
		return &p.Own
	}
	for i := range p.Places {
		if string(name) == p.Places[i].Name {
			return &p.Places[i]
		}
	}
	return nil
}

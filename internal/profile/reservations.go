package profile

import (
	"math"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/session"
	"wamble/wire"
)

// reservations answers with the boards that the player's identity holds, in all profiles. A guest gets an
// empty list.
func (p *Profile) reservations(r *request, out *Output) verdict {
	var rows []wire.Reservation
	if s := r.session; s != nil && s.Identity() != nil {
		in, v := p.storeAnswer(r, Load{Subject: ReservationsOf, Token: r.h.Token, Key: s.Identity().Key()}, out)
		if in == nil {
			return v
		}
		rows = p.reserved(r.session, in.Answer)
	}
	link.Answer(p.link, r.id, wire.Header{Token: r.h.Token}, wire.ActiveReservationsData{Rows: rows})
	return done
}

// reserved returns the stored reservations. For boards of this profile memory is newer and decides.
func (p *Profile) reserved(s *session.Session, stored *Answer) []wire.Reservation {
	var rows []wire.Reservation
	key, own := s.Identity().Key(), p.policy.Own.Name
	held, listed := p.heldBy(s), false
	if stored != nil {
		for _, row := range stored.Reservations {
			if row.Profile == own && !p.heldInOtherShard(row.Board) && !p.holdsFor(row.Board, key) ||
				len(rows) == math.MaxUint16-1 {
				continue
			}
			listed = listed || held != nil && row.Board == held.ID()
			rows = append(rows, wire.Reservation{
				Board: wire.Uint64(row.Board), ReservedAt: seconds(row.At.Unix()),
				ExpiresAt: seconds(row.Expires.Unix()),
				Available: p.policy.Place([]byte(row.Profile)) != nil && row.Profile != "",
				Profile:   wire.Text(row.Profile),
			})
		}
	}
	if held != nil && !listed {
		at := p.clock.label(held.Reserved())
		rows = append(rows, wire.Reservation{
			Board: wire.Uint64(held.ID()), ReservedAt: seconds(at.Unix()),
			ExpiresAt: seconds(at.Add(p.cfg.Boards.ReservationTimeout).Unix()),
			Available: true, Profile: wire.Text(own),
		})
	}
	return rows
}

// heldInOtherShard reports whether another shard may have a board that is held according to the store: it is
// not here, and was not recently.
func (p *Profile) heldInOtherShard(id wamble.BoardID) bool {
	return p.shard.Of > 1 && p.boards.Board(id) == nil && p.boards.Recent(id) == nil
}

// holdsFor reports whether a session of a key holds a board of this profile.
func (p *Profile) holdsFor(id wamble.BoardID, key wamble.PublicKey) bool {
	b := p.boards.Board(id)
	if b == nil || b.Holder() == 0 {
		return false
	}
	s := p.sessions.ByID(b.Holder())
	return s != nil && s.Identity() != nil && s.Identity().Key() == key
}

func seconds(unix int64) wire.Uint64 { return wire.Uint64(max(unix, 0)) }

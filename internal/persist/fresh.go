package persist

import "wamble"

// fresh makes empty intents, those of a move many at a time: a plan holds
// thousands, and all of them go at once.
type fresh struct {
	boards  slab[wamble.UpdateBoard]
	assigns slab[wamble.UpdateBoardAssignmentTime]
	moves   slab[wamble.RecordMove]
	holds   slab[wamble.CreateReservation]
	frees   slab[wamble.RemoveReservation]
	seen    slab[wamble.UpdateSessionLastSeen]
}

func (f *fresh) intent(k wamble.Kind) wamble.Intent {
	switch k {
	case wamble.KindUpdateBoard:
		return f.boards.next()
	case wamble.KindUpdateBoardAssignmentTime:
		return f.assigns.next()
	case wamble.KindRecordMove:
		return f.moves.next()
	case wamble.KindCreateReservation:
		return f.holds.next()
	case wamble.KindRemoveReservation:
		return f.frees.next()
	case wamble.KindUpdateSessionLastSeen:
		return f.seen.next()
	}
	return k.New()
}

// slab is a piece of memory for values of one kind. None is used twice.
type slab[T any] struct{ left []T }

const slabSize = 64

func (s *slab[T]) next() *T {
	if len(s.left) == 0 {
		s.left = make([]T, slabSize)
	}
	v := &s.left[0]
	s.left = s.left[1:]
	return v
}

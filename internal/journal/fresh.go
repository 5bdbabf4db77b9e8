package journal

import "wamble/internal/intent"

// fresh makes empty intents, those of a move many at a time: a plan holds
// thousands, and all of them go at once.
type fresh struct {
	boards  slab[intent.UpdateBoard]
	assigns slab[intent.UpdateBoardAssignmentTime]
	moves   slab[intent.RecordMove]
	holds   slab[intent.CreateReservation]
	frees   slab[intent.RemoveReservation]
	seen    slab[intent.UpdateSessionLastSeen]
}

func (f *fresh) intent(k intent.Kind) intent.Intent {
	switch k {
	case intent.KindUpdateBoard:
		return f.boards.next()
	case intent.KindUpdateBoardAssignmentTime:
		return f.assigns.next()
	case intent.KindRecordMove:
		return f.moves.next()
	case intent.KindCreateReservation:
		return f.holds.next()
	case intent.KindRemoveReservation:
		return f.frees.next()
	case intent.KindUpdateSessionLastSeen:
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

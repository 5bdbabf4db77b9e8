package schema

import (
	"context"
	"errors"
	"fmt"

	"wamble/internal/intent"
	"wamble/internal/store"
)

// BadData says that a stored row cannot be read, or contradicts an intent.
type BadData struct{ Reason string }

func (e *BadData) Error() string { return e.Reason }

// Badf returns a *BadData.
func Badf(format string, args ...any) error { return &BadData{fmt.Sprintf(format, args...)} }

// Classify adds what failed to an error of a store, and store.ErrTransient if the error may
// pass by itself, as all errors do that are caused by the database and not the rows. none is
// the driver's error for "no row", and permanent reports whether an error of the driver is
// caused by the rows. Errors that the stores made are classified already.
func Classify(ctx context.Context, what string, err, none error, permanent func(error) bool) error {
	var moved *store.CursorMoved
	var owned *store.Owned
	var bad *intent.Violation
	var data *BadData
	var newer *Newer
	var original *Original
	switch {
	case err == nil:
		return nil
	case errors.Is(err, none), errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%s: %w", what, store.ErrNotFound)
	case errors.Is(err, store.ErrTransient), errors.As(err, &moved), errors.As(err, &owned):
		return err
	case errors.As(err, &bad), errors.As(err, &data), errors.As(err, &newer),
		errors.As(err, &original):
		return fmt.Errorf("%s: %w", what, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w", store.ErrTransient, what, ctx.Err())
	case permanent(err):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// The limit was the store's, not the caller's: do not wrap the context's error.
		return fmt.Errorf("%w: %s: %v", store.ErrTransient, what, err)
	}
	return fmt.Errorf("%w: %s: %w", store.ErrTransient, what, err)
}

// Advise adds advice for the host, if it is not "", to an error that is store.ErrTransient.
// Other errors are returned unchanged.
func Advise(err error, advice string) error {
	if advice == "" || !errors.Is(err, store.ErrTransient) {
		return err
	}
	return &store.Unusable{Advice: advice, Err: err}
}

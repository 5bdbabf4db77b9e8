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

// Classify wraps an error of a store with what failed, and with
// store.ErrTransient if it may pass by itself: that is every one that blames
// the database and not the rows. none is the driver's error for "no row", and
// permanent reports whether an error of the driver blames the rows. Errors that
// the stores made themselves are left as they are.
func Classify(ctx context.Context, what string, err, none error, permanent func(error) bool) error {
	var moved *store.CursorMoved
	var owned *store.Owned
	var bad *intent.Violation
	var data *BadData
	var newer *Newer
	switch {
	case err == nil:
		return nil
	case errors.Is(err, none), errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("%s: %w", what, store.ErrNotFound)
	case errors.Is(err, store.ErrTransient), errors.As(err, &moved), errors.As(err, &owned):
		return err
	case errors.As(err, &bad), errors.As(err, &data), errors.As(err, &newer):
		return fmt.Errorf("%s: %w", what, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: %w", store.ErrTransient, what, ctx.Err())
	case permanent(err):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		// The store's own limit, not the caller's: it must not look like his.
		return fmt.Errorf("%w: %s: %v", store.ErrTransient, what, err)
	}
	return fmt.Errorf("%w: %s: %w", store.ErrTransient, what, err)
}

// Advise adds what a host can do about an error that blames the database; "" is
// nothing. Other errors are left as they are.
func Advise(err error, advice string) error {
	if advice == "" || !errors.Is(err, store.ErrTransient) {
		return err
	}
	return &store.Unusable{Advice: advice, Err: err}
}

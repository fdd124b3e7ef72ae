// Package fault classifies failures by what the caller should do next.
//
// Code that talks to the world returns a fault; code that decides (a Temporal worker, an AMQP consumer, an HTTP
// handler) translates the Class once, at its own border, and nowhere else.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"time"
)

// A Class says what to do about a failure.
type Class string

// The classes. Class.Retry is the whole retry table.
const (
	Transient Class = "transient" // it may pass: retry with backoff
	Throttled Class = "throttled" // it will pass, but not before Error.After
	Limited   Class = "limited"   // our own limits hold it back: wait Error.After, it costs no attempt
	Blocked   Class = "blocked"   // the other side refuses (robots, login wall, 403): a person decides
	Gone      Class = "gone"      // it no longer exists: record that and go on
	Invalid   Class = "invalid"   // this input can never work
	Conflict  Class = "conflict"  // it clashes with what is there now: look again, then decide
)

// Classes are all of them.
var Classes = []Class{Transient, Throttled, Limited, Blocked, Gone, Invalid, Conflict}

// Retry says how often the same thing may be tried, the first time included: 1 means never again, 0 without end.
// Ends are for the world outside (an image host); our own stores are retried until they are back.
func (c Class) Retry() (attempts int, first, cap time.Duration) {
	switch c {
	case Transient:
		return 5, time.Second, time.Minute
	case Throttled:
		return 8, 5 * time.Second, 5 * time.Minute
	case Limited:
		return 0, time.Second, time.Minute
	case Blocked, Gone, Invalid, Conflict:
		return 1, 0, 0
	}
	panic("fault: unknown class " + string(c))
}

// Growing is the wait after so many tries in a row, 1 or more: first after one of them, times factor with each further
// one, at most most.
func Growing(first, most time.Duration, factor float64, tries int) time.Duration {
	return time.Duration(min(float64(first)*math.Pow(factor, float64(max(tries, 1)-1)), float64(most)))
}

// Final says that trying again cannot help. Success, the class "", is not final.
func (c Class) Final() bool {
	if c == "" {
		return false
	}
	attempts, _, _ := c.Retry()
	return attempts == 1
}

// Error is a failure with a Class. Wrap it freely: Of looks through %w.
type Error struct {
	Class Class
	After time.Duration // wait at least this long; zero means no opinion
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Newf returns an Error of the given class. The format takes %w.
func Newf(c Class, format string, args ...any) error {
	return &Error{Class: c, Err: fmt.Errorf(format, args...)}
}

// Wrap says before err what was being done, as fmt.Errorf("…: %w", …, err) does, and leaves nil as it is.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// queryCanceled is the SQLSTATE of a statement that the server has canceled.
const queryCanceled = "57014"

// Ended adds to err that ctx has ended, where err is that a database canceled a statement: the database does not know
// for whose sake. Any other error stays as it is.
func Ended(ctx context.Context, err error) error {
	stated, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok || ctx.Err() == nil || stated.SQLState() != queryCanceled || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}

// Of returns the class and the minimum wait found in err's chain, and "" for nil. An error without a class is
// Transient: everything that returns one is idempotent, so trying again is the safe guess.
func Of(err error) (Class, time.Duration) {
	if err == nil {
		return "", 0
	}
	if f, ok := errors.AsType[*Error](err); ok {
		return f.Class, f.After
	}
	return Transient, 0
}

// ClassOf returns the class of err as Of does.
func ClassOf(err error) Class {
	class, _ := Of(err)
	return class
}

// Survive is deferred: a panic becomes *err, of class Invalid, for the same code on the same input would panic again.
// what names the work in it and in the log, which has the stack; log may be nil.
func Survive(err *error, what string, log func(text string, args ...any)) {
	p := recover()
	if p == nil {
		return
	}
	if log != nil {
		log(what+" panicked", "panic", p, "stack", string(debug.Stack()))
	}
	*err = Newf(Invalid, "%s panicked: %v", what, p)
}

// Try returns the error of f, or that of its panic, as Survive makes it. What a goroutine does that is one of several
// is tried: its panic would end the process.
func Try(what string, log func(text string, args ...any), f func() error) (err error) {
	defer Survive(&err, what, log)
	return f()
}

// NoEOF is err, and io.ErrUnexpectedEOF for the end of what is not complete: a reader's caller takes io.EOF for the end
// of all.
func NoEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

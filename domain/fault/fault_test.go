package fault_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
)

func TestGrowing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		first, most time.Duration
		factor      float64
		tries       int
		want        time.Duration
	}{
		{time.Second, time.Minute, 2, 0, time.Second},
		{time.Second, time.Minute, 2, 1, time.Second},
		{time.Second, time.Minute, 2, 6, 32 * time.Second},
		{time.Second, time.Minute, 2, 7, time.Minute},
		{time.Second, time.Minute, 2, 1 << 40, time.Minute},
		{5 * time.Second, time.Hour, 3, 6, 1215 * time.Second},
		{time.Second, time.Hour, 1, 9, time.Second},
		{time.Hour, time.Second, 2, 1, time.Second},
		{0, time.Second, 2, 9, 0},
	} {
		require.Equal(t, tt.want, fault.Growing(tt.first, tt.most, tt.factor, tt.tries), tt)
	}
}

// classes reads every constant of type Class from the source, so that a new one cannot be forgotten here.
func classes(t *testing.T) (all []fault.Class) {
	t.Helper()

	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || fmt.Sprint(spec.Type) != "Class" {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is not a literal", spec.Names[0])
		}
		name, err := strconv.Unquote(literal.Value)
		require.NoError(t, err)
		all = append(all, fault.Class(name))
		return true
	})
	return all
}

func TestRetry(t *testing.T) {
	t.Parallel()
	type row struct {
		attempts   int
		first, cap time.Duration
		final      bool
	}
	want := map[fault.Class]row{
		fault.Transient: {5, time.Second, time.Minute, false},
		fault.Throttled: {8, 5 * time.Second, 5 * time.Minute, false},
		fault.Limited:   {0, time.Second, time.Minute, false},
		fault.Blocked:   {1, 0, 0, true},
		fault.Gone:      {1, 0, 0, true},
		fault.Invalid:   {1, 0, 0, true},
		fault.Conflict:  {1, 0, 0, true},
	}
	all := classes(t)
	assert.Len(t, all, len(want), all)
	for _, c := range all {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			attempts, first, most := c.Retry() // panics for a class without a row
			assert.Equal(t, want[c], (row{attempts, first, most, c.Final()}), c)
			if first > most {
				t.Errorf("%s: the first wait %v is longer than the longest %v", c, first, most)
			}
		})
	}
}

func TestRetryOfNoClass(t *testing.T) {
	t.Parallel()
	if fault.Class("").Final() {
		t.Error("success is final")
	}
	defer func() {
		assert.Equal(t, "fault: unknown class odd", fmt.Sprint(recover()))
	}()
	fault.Class("odd").Retry()
}

func TestOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	for _, tt := range []struct {
		name  string
		err   error
		class fault.Class
		after time.Duration
		text  string
	}{
		{"success", nil, "", 0, ""},
		{"nobody classified it", cause, fault.Transient, 0, "connection refused"},
		{"classified", fault.Newf(fault.Gone, "no listing %d", 7), fault.Gone, 0, "no listing 7"},
		{"wrapped", fmt.Errorf("read: %w", fault.Newf(fault.Invalid, "bad price")), fault.Invalid, 0, "read: bad price"},
		{"with a wait", &fault.Error{Class: fault.Throttled, After: time.Minute, Err: cause}, fault.Throttled, time.Minute,
			"connection refused"},
		{"the outermost class counts", fault.Newf(fault.Conflict, "save: %w", fault.Newf(fault.Gone, "none")),
			fault.Conflict, 0, "save: none"},
		{"one of several", errors.Join(cause, fault.Newf(fault.Blocked, "private address")), fault.Blocked, 0,
			"connection refused\nprivate address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			class, after := fault.Of(tt.err)
			if class != tt.class || after != tt.after {
				t.Errorf("Of(%v) = %q, %v; want %q, %v", tt.err, class, after, tt.class, tt.after)
			}
			if tt.err != nil && tt.err.Error() != tt.text {
				t.Errorf("it says %q, want %q", tt.err, tt.text)
			}
		})
	}
	if err := fault.Newf(fault.Gone, "fetch: %w", cause); !errors.Is(err, cause) {
		t.Error("Newf loses its cause")
	}
}

// state is an error of a database.
type state string

func (s state) Error() string    { return "canceling statement" }
func (s state) SQLState() string { return string(s) }

// A statement that was canceled because ctx has ended has the reason of ctx; nothing else has.
func TestEnded(t *testing.T) {
	t.Parallel()
	going := t.Context()
	ended, end := context.WithCancel(going)
	end()
	late, stop := context.WithTimeout(going, -1)
	defer stop()
	canceled, other := fmt.Errorf("read: %w", state("57014")), fmt.Errorf("read: %w", state("23505"))
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		is   error // beside err
	}{
		{"canceled", ended, canceled, context.Canceled},
		{"late", late, canceled, context.DeadlineExceeded},
		{"too long by itself", going, canceled, nil},
		{"another state", ended, other, nil},
		{"no database", ended, io.EOF, nil},
		{"told already", ended, fmt.Errorf("%w: %w", context.Canceled, canceled), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := fault.Ended(tt.ctx, tt.err)
			require.ErrorIs(t, got, tt.err)
			if tt.is == nil {
				require.Equal(t, tt.err, got)
				return
			}
			require.ErrorIs(t, got, tt.is)
		})
	}
	require.NoError(t, fault.Ended(ended, nil))
}

// A panic is an error that trying again does not help, and the log has where it was.
func TestSurvive(t *testing.T) {
	t.Parallel()
	var text string
	var args []any
	read := func(what any) (err error) {
		defer fault.Survive(&err, "reading", func(said string, about ...any) { text, args = said, about })
		if what != nil {
			panic(what)
		}
		return io.EOF
	}
	require.Equal(t, io.EOF, read(nil))
	require.Empty(t, text)
	err := read("oops")
	class, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, class)
	require.EqualError(t, err, "reading panicked: oops")
	require.Equal(t, "reading panicked", text)
	require.Contains(t, fmt.Sprint(args), "TestSurvive")
}

func TestWrap(t *testing.T) {
	t.Parallel()

	require.NoError(t, fault.Wrap(nil, "read %s", "x"))
	err := fault.Wrap(fault.Newf(fault.Gone, "50%% of it: %w", io.EOF), "read %s", "100%")
	require.EqualError(t, err, "read 100%: 50% of it: EOF")
	require.ErrorIs(t, err, io.EOF)
	class, _ := fault.Of(err)
	require.Equal(t, fault.Gone, class)
}

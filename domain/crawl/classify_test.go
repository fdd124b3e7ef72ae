package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestClassifyResponse(t *testing.T) {
	t.Parallel()
	for status := 100; status < 600; status++ {
		want, retry := crawl.HTTPTerminal, false
		switch status {
		case 301:
			want = crawl.Redirect301
		case 304:
			want = crawl.Visited
		case 403:
			want = crawl.Forbidden
		case 404:
			want = crawl.NotFound
		case 408, 421, 425, 429:
			retry = true
		}
		switch status / 100 {
		case 2:
			want = crawl.Visited
		case 5:
			retry = true
		}
		if got, again := crawl.ClassifyResponse(status); got != want || again != retry {
			t.Errorf("%d is %s, retry %t; want %s, %t", status, got, again, want, retry)
		}
	}
	for _, status := range []int{0, 600, 999} {
		if got, again := crawl.ClassifyResponse(status); got != crawl.HTTPTerminal || again {
			t.Errorf("%d is %s, retry %t", status, got, again)
		}
	}
}

func TestClassifyError(t *testing.T) {
	t.Parallel()
	retried := map[fault.Class]bool{fault.Transient: true, fault.Throttled: true, fault.Limited: true}
	for _, class := range fault.Classes {
		err := fmt.Errorf("fetch: %w", fault.Newf(class, "x"))
		assert.Equal(t, retried[class], crawl.ClassifyError(err), class)
	}
	if crawl.ClassifyError(nil) || !crawl.ClassifyError(errors.New("unclassified")) {
		t.Error("no error is retried, or one without a class is not")
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	o := crawl.RetryPolicy{Base: time.Second, Max: 30 * time.Second}
	for _, tt := range []struct {
		tries int
		after time.Duration
		want  time.Duration
	}{
		{0, 0, time.Second}, {1, 0, time.Second}, {2, 0, 2 * time.Second}, {3, 0, 4 * time.Second},
		{5, 0, 16 * time.Second}, {6, 0, 30 * time.Second}, {1 << 30, 0, 30 * time.Second},
		{1, 10 * time.Second, 10 * time.Second}, {5, 10 * time.Second, 16 * time.Second},
		{1, time.Hour, 30 * time.Second}, {1, -time.Hour, time.Second},
	} {
		if got := crawl.Backoff(tt.tries, tt.after, o); got != tt.want {
			t.Errorf("Backoff(%d, %s) = %s; want %s", tt.tries, tt.after, got, tt.want)
		}
	}
	assert.Equal(t, time.Second, crawl.Backoff(1, 0, crawl.RetryPolicy{Base: time.Minute, Max: time.Second}))
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for status := 100; status < 600; status++ {
		want := crawl.Welcome
		if status == 403 || status == 429 || status >= 500 {
			want = crawl.Refused(time.Minute)
		}
		assert.Equal(t, want, crawl.Judge(status, time.Minute, nil), status)
	}
	throttled := &fault.Error{Class: fault.Throttled, After: time.Hour, Err: errors.New("x")}
	for _, tt := range []struct {
		err  error
		want crawl.Verdict
	}{
		{fault.Newf(fault.Transient, "timed out"), crawl.Refused(0)},
		{throttled, crawl.Refused(time.Hour)},
		{fault.Newf(fault.Invalid, "too large"), crawl.Welcome},
		{fault.Newf(fault.Gone, "no such host"), crawl.Welcome},
		{fault.Newf(fault.Limited, "our own"), crawl.Unasked},
		{fmt.Errorf("fetch: %w", context.Canceled), crawl.Unasked},
	} {
		assert.Equal(t, tt.want, crawl.Judge(200, time.Minute, tt.err), tt.err)
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/internal/config"
)

// A remote is the API as commands call it: at CONVEYOR_API_URL, with CONVEYOR_API_KEY.
type remote struct{ url, key string }

func newRemote() (remote, error) {
	c, err := config.Load()
	if err != nil {
		return remote{}, err
	}
	return remote{url: strings.TrimSuffix(c.API.URL, "/"), key: c.API.Key}, nil
}

// remoteTimeout is longer than the API takes for anything.
const remoteTimeout = time.Minute

// call sends in, unless it is nil, and reads the answer into out, unless that is nil. An answer that is a problem is
// an error that says all of it.
func (r remote) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	var body io.Reader
	if in != nil {
		doc, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("write request: %w", err)
		}
		body = bytes.NewReader(doc)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.url+path, body)
	if err != nil {
		return fmt.Errorf("read CONVEYOR_API_URL: %w", err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the API; is it running, and is CONVEYOR_API_URL right? %w", err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return refusal(resp, doc)
	}
	if out == nil || len(doc) == 0 {
		return nil
	}
	if err := json.Unmarshal(doc, out); err != nil {
		return fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	return nil
}

// refusal is what a problem says, every field included.
func refusal(resp *http.Response, doc []byte) error {
	var p struct {
		Detail string `json:"detail"`
		Errors []struct{ Message, Location string }
	}
	if err := json.Unmarshal(doc, &p); err != nil || p.Detail == "" {
		return fmt.Errorf("the API answered %s", resp.Status)
	}
	lines := []string{p.Detail}
	if resp.StatusCode == http.StatusUnauthorized {
		lines = append(lines, "commands send the key of CONVEYOR_API_KEY")
	}
	for _, e := range p.Errors {
		lines = append(lines, fmt.Sprintf("%s: %s", e.Location, e.Message))
	}
	return errors.New(strings.Join(lines, "; "))
}

// when is a moment as people write it.
type when struct{ time.Time }

// UnmarshalText reads an RFC 3339 time, a day (its beginning, UTC), or how long ago it was.
func (w *when) UnmarshalText(text []byte) (err error) {
	s := string(text)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if w.Time, err = time.Parse(layout, s); err == nil {
			return nil
		}
	}
	ago, err := time.ParseDuration(s)
	if err != nil || ago < 0 {
		return fmt.Errorf("%q is neither a time such as 2026-01-31T12:00:00Z, nor a day such as 2026-01-31, nor an age such as 2h", s)
	}
	w.Time = time.Now().Add(-ago).UTC()
	return nil
}

// moment is nil for no time.
func (w when) moment() *time.Time {
	if w.IsZero() {
		return nil
	}
	return &w.Time
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// healthTimeout is shorter than what container runtimes give a health check.
const healthTimeout = 3 * time.Second

type healthCmd struct {
	URL string `arg:"" optional:"" help:"What to ask; the default is /health at CONVEYOR_API_URL."`
}

// Run asks once. It is the health check of our containers, whose image has no shell and no curl: exit code 0 is
// healthy, 1 is not, and what was answered instead is in the error.
func (c *healthCmd) Run(ctx context.Context) error {
	if c.URL == "" {
		api, err := newRemote()
		if err != nil {
			return err
		}
		c.URL = api.url + "/health"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, http.NoBody)
	if err != nil {
		return fmt.Errorf("read address: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.URL, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", c.URL, resp.Status, strings.TrimSpace(string(said)))
	}
	return nil
}

package cli

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

// HealthCmd checks one health endpoint.
type HealthCmd struct {
	URL string `arg:"" optional:"" help:"URL to check; the default is /health at CONVEYOR_API_URL."`
}

// Run sends one request. It is the health check of our containers, whose image has no shell and no curl: anything but
// 200 is an error that quotes the response. connect is called only without a URL.
func (c *HealthCmd) Run(ctx context.Context, connect Connect) error {
	if c.URL == "" {
		client, err := connect()
		if err != nil {
			return err
		}
		c.URL = strings.TrimSuffix(client.URL, "/") + "/health"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, http.NoBody)
	if err != nil {
		return fmt.Errorf("read URL: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return fmt.Errorf("read response of %s: %w", c.URL, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", c.URL, resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The corpus names the demo site by its default address; elsewhere its photos are where the flag says.
func TestFeedNamesTheDemoSite(t *testing.T) {
	t.Parallel()

	const line = `{"platform":"kijiji","image_urls":["http://127.0.0.1:8090/photos/1/1.jpg","http://x.example/1.jpg"]}`
	for demo, want := range map[string]string{
		"http://127.0.0.1:8090": line,
		"http://demo:8090/":     `{"platform":"kijiji","image_urls":["http://demo:8090/photos/1/1.jpg","http://x.example/1.jpg"]}`,
	} {
		p, err := (&feedCmd{Demo: demo}).parcel([]byte(line))
		require.NoError(t, err)
		require.Equal(t, want, string(p.Body))
		require.Equal(t, "kijiji", p.RoutingKey)
	}
}

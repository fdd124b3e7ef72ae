package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	apicrawl "github.com/mtlrent/conveyor/api/crawl"
)

// What is watched goes on without the one who watches: that is said, and of what, whatever the watching ends for, but
// for what is not there any more. An API that has answered may be away for minutes.
func TestWatchStops(t *testing.T) {
	t.Parallel()
	const left = "stopped watching; the run goes on: conveyor crawl show 7: "
	const away = left + "call the API; is it running, and is CONVEYOR_API_URL right? "
	for name, tt := range map[string]struct {
		answers int // until it is gone, or refuses
		refuses int // by this status; 0 = it is gone
		want    string
		after   time.Duration
	}{
		"away at once":     {0, 0, away, pollMisses * time.Second},
		"away":             {1, 0, away, 5 * time.Minute},
		"the key is ended": {2, http.StatusUnauthorized, left + "the API answered 401 Unauthorized", 0},
		"no key":           {0, http.StatusUnauthorized, "the API answered 401 Unauthorized", 0},
		"deleted":          {2, http.StatusNotFound, "the API answered 404 Not Found", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close") // time stands still while a connection is open
				if asked++; asked > tt.answers {
					w.WriteHeader(tt.refuses)
					return
				}
				_ = json.NewEncoder(w).Encode(crawled())
			}))
			t.Cleanup(door.Close)
			if tt.answers == 0 && tt.refuses == 0 {
				door.Close()
			}
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := follow(t.Context(), door.URL, func(w *watch[apicrawl.CrawlSummary]) {
					w.out = io.Discard
					w.line = func(apicrawl.CrawlSummary) string {
						if tt.refuses == 0 {
							door.Close()
						}
						return ""
					}
				})
				require.ErrorContains(t, err, tt.want)
				require.Equal(t, tt.want[:7], err.Error()[:7])
				require.GreaterOrEqual(t, time.Since(began), tt.after)
			})
		})
	}
}

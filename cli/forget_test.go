package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apilistings "github.com/mtlrent/conveyor/api/listings"
)

// Nothing is deleted before it was shown, and the answer was yes.
func TestForget(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		cmd   ForgetCmd
		input string
		asked []string
		err   string
	}{
		"yes": {ForgetCmd{What: "listing/kijiji/1"}, "Y\n", []string{"?dry_run=true", ""}, ""},
		"no": {
			ForgetCmd{What: "listing/kijiji/1"}, "no\n", []string{"?dry_run=true"}, "nothing was deleted",
		},
		"no answer": {ForgetCmd{What: "listing/kijiji/1"}, "", []string{"?dry_run=true"}, "nothing was deleted"},
		"block":     {ForgetCmd{What: "listing/kijiji/1", Block: true, Yes: true}, "", []string{"?dry_run=true", "?block=true"}, ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, strings.TrimPrefix(r.Method+" "+r.URL.String(), "DELETE /listings/kijiji/1"))
				out := apilistings.ForgetStarted{Stored: apilistings.ForgetHoldings{Revisions: 3, Listings: 1, Images: 2, Events: 4}}
				if r.URL.Query().Get("dry_run") == "" {
					out.Workflow = &api.WorkflowLink{URL: "http://ui/forget"}
				}
				require.NoError(t, json.NewEncoder(w).Encode(out))
			}))
			t.Cleanup(server.Close)
			var out strings.Builder
			err := test.cmd.run(t.Context(), Client{URL: server.URL}, strings.NewReader(test.input), &out)
			if test.err != "" {
				require.EqualError(t, err, test.err)
			} else {
				require.NoError(t, err)
				require.Contains(t, out.String(), "deletion started: http://ui/forget\n")
			}
			require.Equal(t, test.asked, asked)
			require.Contains(t, out.String(),
				"listing/kijiji/1 has 3 revisions, 1 listing with 2 images and 4 events of its history\n")
			require.Equal(t, !test.cmd.Block, strings.Contains(out.String(), "--block prevents that"))
		})
	}
}

func TestForgetNames(t *testing.T) {
	t.Parallel()

	for what, path := range map[string]string{
		"listing/kijiji/1": "/listings/kijiji/1", "listing/kijiji/a/b": "/listings/kijiji/a%2Fb",
		"kijiji/1": "", "listing/kijiji": "", "listing//1": "", "listing/kijiji/": "", "draft/1/2": "",
	} {
		got, err := (&ForgetCmd{What: what}).path()
		require.Equal(t, path, got, what)
		require.Equal(t, path == "", err != nil, what)
		require.Equal(t, err, (&ForgetCmd{What: what}).Validate())
	}
}

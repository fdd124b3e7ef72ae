package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

// Uploads are listed page after page, shown, watched, controlled, and their refused rows saved. Not parallel: see printed.
func TestUploads(t *testing.T) {
	id := uuid.New()
	state := apioutreach.UploadState("running")
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, strings.ReplaceAll(ask, id.String(), "ID"))
		upload := apioutreach.Upload{ID: id, State: state, FileName: "people.csv", Rows: apioutreach.UploadRows{Read: 3, Invalid: 1}}
		switch {
		case strings.Contains(ask, "errors.csv"):
			return "phone,error_line\n"
		case strings.Contains(ask, "cursor=next"), strings.Contains(ask, "limit=1&"):
			return apioutreach.UploadPage{Items: []apioutreach.Upload{upload}}
		case strings.Contains(ask, "limit="):
			return apioutreach.UploadPage{Items: []apioutreach.Upload{upload}, NextCursor: "next"}
		}
		return upload
	})
	errors := filepath.Join(t.TempDir(), "refused.csv")
	for line, want := range map[string]struct {
		asked []string
		says  string
	}{
		"list --state failed": {
			[]string{"GET /uploads?limit=50&state=failed&tenant=acme", "GET /uploads?cursor=next&limit=49&state=failed&tenant=acme"},
			"(?s)^ID +STATE.*running +people.csv +3 .*running",
		},
		"list --limit 1 --json":      {[]string{"GET /uploads?limit=1&tenant=acme"}, `^{"id":"` + id.String()},
		"show ID":                    {[]string{"GET /uploads/ID?tenant=acme"}, "^upload .*: running\n3 rows read"},
		"show ID --json":             {[]string{"GET /uploads/ID?tenant=acme"}, `"state": "running"`},
		"show ID --errors " + errors: {[]string{"GET /uploads/ID?tenant=acme", "GET /uploads/ID/errors.csv?tenant=acme"}, "^upload"},
		"start ID":                   {[]string{"POST /uploads/ID/start?tenant=acme"}, "^upload"},
		"cancel ID":                  {[]string{"POST /uploads/ID/cancel?tenant=acme"}, "^upload"},
	} {
		asked = nil
		args := strings.Fields(strings.ReplaceAll("contacts uploads "+line+" --tenant acme", "ID", id.String()))
		text := printed(t, func() error { return run(t, url, args...) })
		require.Equal(t, want.asked, asked, line)
		require.Regexp(t, want.says, text, line)
	}
	saved, err := os.ReadFile(errors)
	require.NoError(t, err)
	require.Equal(t, "phone,error_line\n", string(saved))

	watch := []string{"contacts", "uploads", "show", id.String(), "--watch"}
	state = "done"
	require.NoError(t, run(t, url, watch...))
	state = "failed"
	require.ErrorIs(t, run(t, url, watch...), ExitError(1))
	require.Equal(t, "the import goes on: conveyor contacts uploads show "+id.String()+" --tenant acme",
		watchUpload(Client{}, ofTenant{"acme"}, id).left)
}

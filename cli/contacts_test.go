package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

// An import waits while the API is behind, is one upload however often it is sent, and says what was refused.
func TestContactsImport(t *testing.T) {
	t.Parallel()
	id, list := uuid.New(), uuid.New()
	var keys []string
	var form map[string][]string
	var content string
	var length int64
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	var created []string
	mux.HandleFunc("POST /contact-lists", func(w http.ResponseWriter, r *http.Request) {
		var in apioutreach.ContactListStart
		_ = json.NewDecoder(r.Body).Decode(&in)
		created = append(created, in.Name)
		answer(w, 200, apioutreach.ContactList{ID: list, Name: in.Name})
	})
	mux.HandleFunc("GET /contact-lists", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, apioutreach.ContactLists{Items: []apioutreach.ContactList{{ID: uuid.New(), Name: "Foes"}, {ID: list, Name: "Friends"}}})
	})
	mux.HandleFunc("POST /uploads", func(w http.ResponseWriter, r *http.Request) {
		if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) == 1 {
			w.Header().Set("Retry-After", "1")
			answer(w, http.StatusTooManyRequests, map[string]string{"detail": "6000 chunks wait"})
			return
		}
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			answer(w, 400, map[string]string{"detail": err.Error()})
			return
		}
		form, length = r.MultipartForm.Value, r.ContentLength
		f, _ := r.MultipartForm.File["file"][0].Open()
		all, _ := io.ReadAll(f)
		content = r.MultipartForm.File["file"][0].Filename + ": " + string(all)
		answer(w, http.StatusAccepted, apioutreach.Upload{ID: id, Tenant: "acme", State: "received"})
	})
	mux.HandleFunc("GET /uploads/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("tenant") != "acme" {
			answer(w, 400, map[string]string{"detail": "no tenant"})
			return
		}
		answer(w, 200, apioutreach.Upload{
			ID: id, Tenant: "acme", State: "done", Chunks: 1, StoredChunks: 1,
			Rows: apioutreach.UploadRows{
				Read: 23, Valid: 7, Invalid: 15, Duplicate: 1, New: 5, Updated: 1, Skipped: 1, Unlisted: 3,
			},
		})
	})
	mux.HandleFunc("GET /uploads/{id}/errors.csv", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "\ufeffphone,error_line,error_field,error_code,error_message\n"+
			strings.Repeat("12,3,phone,phone_invalid,\"12\x1b is\nno number\"\n", 12))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	folder := t.TempDir()
	file, errs := filepath.Join(folder, "people.csv"), filepath.Join(folder, "errors.csv")
	require.NoError(t, os.WriteFile(file, []byte("phone\n12\n"), 0o600))
	progress, err := os.Create(filepath.Join(folder, "progress"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = progress.Close() })

	var out strings.Builder
	c := contactsImportCmd{
		File: file, Map: map[string]string{"Tél.": "phone"}, List: []string{"Friends", "Bob's"}, Tag: []string{"a"}, Known: "skip",
		Errors: errs, DryRun: true, Sheet: "People", Encoding: "macintosh", Delimiter: ";", Header: new(false),
	}
	err = c.run(t.Context(), Client{URL: server.URL}, ofTenant{"acme"}, &out, progress)
	require.Equal(t, ExitError(1), err)
	line := "line 3: 12  is no number (phone_invalid)\n"
	require.Equal(t, "upload "+id.String()+": done\n23 rows read: 7 valid (5 new, 1 updated, 1 unchanged), 15 refused, "+
		"1 duplicates\nthe first 12 of the refused rows are kept; the others are counted only\n"+strings.Repeat(line, 10)+"… and 2 more\n", out.String())
	require.Len(t, keys, 2)
	require.Equal(t, keys[0], keys[1])
	require.Equal(t, map[string][]string{
		"options": {`{"encoding":"macintosh","delimiter":";","header":false,"sheet":"People","mapping":{"Tél.":"phone"}}`}, "known": {"skip"}, "dry_run": {"true"}, "list": {list.String()},
		"tag": {"a"},
	}, form)
	require.Empty(t, created, "a dry run stores nothing")
	require.Positive(t, length, "a file of unknown length is refused beside another one")
	require.Equal(t, "people.csv: phone\n12\n", content)
	saved, err := os.ReadFile(errs)
	require.NoError(t, err)
	require.Equal(t, 25, strings.Count(string(saved), "\n"))
	said, err := os.ReadFile(progress.Name())
	require.NoError(t, err)
	require.Equal(t, "conveyor: 6000 chunks wait\ndone: 23 rows read, 15 refused\nrefused rows: "+errs+
		"\nmend them there, then: conveyor contacts import "+errs+" --tenant acme --map 'Tél.=phone' --list Friends "+
		"--list 'Bob'\\''s' --tag a --known skip\n", string(said))

	c.DryRun = false
	require.Equal(t, ExitError(1), c.run(t.Context(), Client{URL: server.URL}, ofTenant{"acme"}, io.Discard, progress))
	require.Equal(t, []string{"Friends", "Bob's"}, created)
	require.Equal(t, []string{list.String(), list.String()}, form["list"])
}

// An export of contacts is for nobody else on the machine, also where a file of another mode was there.
func TestExportsOfPeople(t *testing.T) {
	t.Parallel()
	url, folder := serve(t, func(string) any { return "phone\n" }), t.TempDir()
	for name, write := range map[string]func(path string) error{
		"contacts": func(path string) error {
			return (&contactsExportCmd{Out: path}).Run(t.Context(), &ContactsCmd{}, Client{URL: url})
		},
		"tenant": func(path string) error { return run(t, url, "tenants", "export", "acme", "--to", path) },
	} {
		path := filepath.Join(folder, name)
		require.NoError(t, write(path))
		require.Equal(t, os.FileMode(0o600), modeOf(t, path), name)
		require.NoError(t, os.Chmod(path, 0o644))
		require.NoError(t, write(path))
		require.Equal(t, os.FileMode(0o600), modeOf(t, path), name)
	}
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()

	is, err := os.Lstat(path)
	require.NoError(t, err)
	return is.Mode()
}

// A suggested command names the tenant where the flag did, and not where the environment or the key does.
func TestTenantFlag(t *testing.T) {
	t.Setenv("CONVEYOR_TENANT", "acme")
	require.Empty(t, ofTenant{"acme"}.flag())
	require.Equal(t, " --tenant rival", ofTenant{"rival"}.flag())
	t.Setenv("CONVEYOR_TENANT", "")
	require.Equal(t, " --tenant acme", ofTenant{"acme"}.flag())
	require.Empty(t, ofTenant{}.flag())
}

func TestUploadLine(t *testing.T) {
	t.Parallel()
	u := apioutreach.Upload{State: "splitting", Rows: apioutreach.UploadRows{Read: 10}, Chunks: 4, StoredChunks: 1}
	require.Equal(t, "splitting: 10 rows read", uploadLine(u))
	u.State, u.Rows.Invalid, u.RowsPerSecond, u.SecondsLeft = "running", 2, 1000, new(61.2)
	require.Equal(t, "["+strings.Repeat("█", 7)+strings.Repeat("░", 23)+"]  25 %  10 rows read, 2 refused, 1000 rows/s, "+
		"1m1s left", uploadLine(u))
}

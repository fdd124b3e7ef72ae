package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	"github.com/mtlrent/conveyor/domain/draft"
)

func TestReadURLs(t *testing.T) {
	t.Parallel()
	const own = "0f0e0d0c-0b0a-4908-8706-050403020100"
	for _, tt := range []struct{ name, in, want, err string }{
		{"no header", "https://a.example/1\nhttps://a.example/2\n", "1 https://a.example/1 dir|2 https://a.example/2 dir", ""},
		{"a header", "name,URL,out_dir\nLamp,https://a.example/1,x\nCup, https://a.example/2 ,\n",
			"2 https://a.example/1 x|3 https://a.example/2 dir", ""},
		{"a mark of the byte order, and a line of its own", "\ufeffurl\n\nhttps://a.example/1\n", "3 https://a.example/1 dir", ""},
		{"event IDs", "url,event_id\nhttps://a.example/1," + own + "\nhttps://a.example/1,\n",
			"2 https://a.example/1 dir|3 https://a.example/1 dir", ""},
		{"a wrong event ID", "url,event_id\nhttps://a.example/1,7\n", "", `line 2: event_id "7" is not a UUID`},
		{"no address", "url\nhttps://a.example/1\nlamp\n", "", "line 3: "},
		{"a password", "https://me:secret@a.example/1\n", "", "line 1: "},
		{"a folder above", "url,out_dir\nhttps://a.example/1,../x\n", "", "line 2: "},
		{"a wrong locale", "url,locale\nhttps://a.example/1,fr_CA\n", "", "line 2: "},
		{"locales", "url,locale\nhttps://a.example/1,fr\nhttps://a.example/1,de\n",
			"2 https://a.example/1 dir|3 https://a.example/1 dir", ""},
		{"twice", "https://a.example/1\nhttps://a.example/1\n", "", "line 2: is the same request as line 1"},
		{"quotes", "https://a.example/1\n\"https://a.example/2\n", "", "read URLs: "},
		{"empty", "url\n", "", "read URLs: there are none"},
		{"long", strings.Repeat("x", maxURLFile+1), "", "read URLs: the file has more than 33554432 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rows, err := readURLs(strings.NewReader(tt.in), "dir", "", uuid.Nil)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				require.NotContains(t, err.Error(), "secret")
				return
			}
			require.NoError(t, err)
			var got []string
			for _, r := range rows {
				got = append(got, strings.Join([]string{string(rune('0' + r.line)), r.request.URL, r.request.OutDir}, " "))
			}
			require.Equal(t, tt.want, strings.Join(got, "|"))
		})
	}
	again := func(in string, batch uuid.UUID) uuid.UUID {
		rows, err := readURLs(strings.NewReader(in), "", "", batch)
		require.NoError(t, err)
		return *rows[0].request.EventID
	}
	require.Equal(t, again("https://a.example/1\n", uuid.Nil), again("https://a.example/1\n", uuid.Nil))
	require.NotEqual(t, again("https://a.example/1\n", uuid.Nil), again("https://a.example/1\n", uuid.New()))
	require.NotEqual(t, again("https://a.example/1\n", uuid.Nil), again("https://a.example/1\nhttps://a.example/2\n", uuid.Nil))
}

// A file that breaks off goes on where it stopped, for each row keeps its event ID.
func TestDraftFile(t *testing.T) {
	t.Parallel()
	asked := map[uuid.UUID]string{}
	refuse := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in apidrafts.DraftRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		if refuse && strings.HasSuffix(in.URL, "/2") {
			w.WriteHeader(http.StatusConflict)
			return
		}
		asked[*in.EventID] = in.URL
		w.WriteHeader(http.StatusAccepted)
		_ = json.NewEncoder(w).Encode(apidrafts.DraftRequestAccepted{EventID: *in.EventID, DraftID: draft.ID(*in.EventID)})
	}))
	t.Cleanup(server.Close)
	c := draftRequestCmd{File: "-"}
	const file = "url\nhttps://a.example/1\nhttps://a.example/2\n"
	var out strings.Builder
	err := c.runFile(t.Context(), Client{URL: server.URL}, strings.NewReader(file), &out)
	require.ErrorContains(t, err, "line 3: ")
	require.ErrorContains(t, err, "1 of 2 were requested")
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
	refuse = false
	out.Reset()
	require.NoError(t, c.runFile(t.Context(), Client{URL: server.URL}, strings.NewReader(file), &out))
	require.Len(t, asked, 2)
	require.Equal(t, 3, strings.Count(out.String(), "\n"))
	for id, address := range asked {
		require.Contains(t, out.String(), id.String()+","+draft.ID(id).String()+","+address+"\n")
	}
}

func TestDraftArguments(t *testing.T) {
	t.Parallel()
	require.NoError(t, (&draftRequestCmd{URL: "https://a.example/"}).Validate())
	require.NoError(t, (&draftRequestCmd{File: "-"}).Validate())
	require.Error(t, (&draftRequestCmd{}).Validate())
	require.Error(t, (&draftRequestCmd{URL: "https://a.example/", File: "-"}).Validate())
}

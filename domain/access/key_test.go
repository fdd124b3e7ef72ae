package access_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestNewKey(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		id, key, err := access.NewKey(rand.Reader)
		require.NoError(t, err)
		require.Regexp(t, `^cvr_[a-z2-7]{8}_[A-Za-z0-9_-]{43}$`, key)
		got, ok := access.KeyID(key)
		require.True(t, ok)
		require.Equal(t, id, got)
		require.False(t, seen[id] || seen[key])
		seen[id], seen[key] = true, true
	}
	_, _, err := access.NewKey(bytes.NewReader(make([]byte, 36)))
	require.ErrorContains(t, err, "random", "too few bytes make no key")
}

func TestKeyID(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("A", 43)
	for s, want := range map[string]string{
		"cvr_abcdefgh_" + secret:                     "abcdefgh",
		"cvr_abcdefgh_" + strings.Repeat("_", 43):    "abcdefgh",
		"cvr_abcdefgh_" + secret[1:]:                 "",
		"cvr_abcdefgh_" + secret + "A":               "",
		"cvr_abcdefg_" + secret:                      "",
		"cvr_ABCDEFGH_" + secret:                     "",
		"cvx_abcdefgh_" + secret:                     "",
		" cvr_abcdefgh_" + secret:                    "",
		"cvr_abcdefgh_" + secret + "\n":              "",
		"":                                           "",
		"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqbyJ9.c2ln": "",
	} {
		id, ok := access.KeyID(s)
		require.Equal(t, want, id, s)
		require.Equal(t, want != "", ok, s)
	}
}

func TestParseGrant(t *testing.T) {
	t.Parallel()
	_, key, err := access.NewKey(rand.Reader)
	require.NoError(t, err)
	sum := access.SumOf(key)
	digits := hex.EncodeToString(sum[:])
	want := access.Grant{Name: "ci-2", Role: access.Operate, Sum: sum}
	require.Equal(t, "ci-2:operate:"+digits, want.String())
	for _, s := range []string{want.String(), "ci-2:operate:" + key, " ci-2:operate:" + strings.ToUpper(digits) + " "} {
		got, err := access.ParseGrant(s)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for s, says := range map[string]string{
		"":                            "1 parts",
		"ci:read":                     "2 parts",
		"ci:read:" + digits + ":x":    "4 parts",
		"CI:read:" + digits:           "name: ",
		":read:" + digits:             "name: ",
		"anonymous:read:" + digits:    "anonymous",
		"ci:root:" + digits:           "role: ",
		"ci:read:hunter2":             "sha256: of ci",
		"ci:read:hunter2" + digits:    "sha256: of ci",
		"ci:read:hunter2" + key:       "sha256: of ci",
		"ci:read:" + digits[:62]:      "sha256: of ci",
		"c" + strings.Repeat("i", 63): "1 parts",
	} {
		_, err := access.ParseGrant(s)
		class, _ := fault.Of(err)
		require.Equal(t, fault.Invalid, class, s)
		require.ErrorContains(t, err, says, s)
		for _, secret := range []string{"hunter2", key, digits[:62]} {
			require.NotContains(t, err.Error(), secret)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "0", "grafana", "team-a.ci_2", strings.Repeat("a", 63)} {
		require.NoError(t, access.CheckName(name), name)
	}
	for _, name := range []string{
		"", "-a", ".a", "A", "a b", "cli:root", "oidc:1", "é", "a\n", "anonymous", strings.Repeat("a", 64),
	} {
		require.ErrorContains(t, access.CheckName(name), "name: ", name)
	}
}

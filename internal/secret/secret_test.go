package secret_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/secret"
)

// key is a key of 32 equal bytes.
func key(id string, fill byte) string {
	return id + ":" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, 32))
}

func parse(t *testing.T, s string) *secret.Box {
	t.Helper()
	box, err := secret.Parse(s)
	require.NoError(t, err)
	return box
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	box := parse(t, key("a", 1))
	id, sealed, err := box.Seal("sender/1", []byte("token"))
	require.NoError(t, err)
	require.Equal(t, "a", id)
	require.NotContains(t, string(sealed), "token")
	_, again, err := box.Seal("sender/1", []byte("token"))
	require.NoError(t, err)
	require.NotEqual(t, sealed, again, "equal values cannot be told")

	plain, err := box.Open("sender/1", id, sealed)
	require.NoError(t, err)
	require.Equal(t, "token", string(plain))

	_, err = box.Open("sender/2", id, sealed)
	require.ErrorContains(t, err, "not sealed for this")
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		_, err := box.Open("sender/1", id, changed)
		require.Error(t, err, "byte %d", i)
	}
	for _, short := range [][]byte{nil, sealed[:5], sealed[:len(sealed)-1]} {
		_, err := box.Open("sender/1", id, short)
		require.Error(t, err)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	id, sealed, err := parse(t, key("old", 1)).Seal("p", []byte("token"))
	require.NoError(t, err)

	both := parse(t, key("new", 2)+", "+key("old", 1))
	require.Equal(t, "new", both.Key())
	plain, err := both.Open("p", id, sealed)
	require.NoError(t, err)
	id, sealed, err = both.Seal("p", plain)
	require.NoError(t, err)
	require.Equal(t, "new", id)

	_, err = parse(t, key("old", 1)).Open("p", id, sealed)
	require.ErrorContains(t, err, `no key with the ID "new"`)
	class, after := fault.Of(err)
	require.Equal(t, fault.Limited, class, "it may be given the key")
	require.Equal(t, 30*time.Second, after)
	_, err = parse(t, key("new", 1)).Open("p", id, sealed)
	require.ErrorContains(t, err, "not sealed for this", "another key of the same ID")
	require.NotEqual(t, fault.Limited, fault.ClassOf(err))
	_, _, err = parse(t, "").Seal("p", plain)
	require.ErrorContains(t, err, "CONVEYOR_SECRET_KEYS has no key")
}

// A value that is sealed by a derived key is opened by the key that it is derived from, for its kind alone; what was
// sealed before is opened, too, and a process that derives none waits.
func TestDerivedKeys(t *testing.T) {
	t.Parallel()
	keys := key("new", 2) + "," + key("old", 1)
	box, before := parse(t, keys).Derive(), parse(t, keys)
	require.Equal(t, "new/hkdf", box.Key())
	id, sealed, err := box.Seal("sender/1", []byte("token"))
	require.NoError(t, err)
	require.Equal(t, "new/hkdf", id)
	for _, opens := range []*secret.Box{box, before, parse(t, key("new", 2))} {
		plain, err := opens.Open("sender/1", id, sealed)
		require.NoError(t, err)
		require.Equal(t, "token", string(plain))
	}
	for _, purpose := range []string{"sender/2", "proxy/1", "sender"} {
		_, err = box.Open(purpose, id, sealed)
		require.ErrorContains(t, err, "not sealed for this")
	}
	_, err = box.Open("sender/1", "new", sealed)
	require.ErrorContains(t, err, "not sealed for this")
	_, err = parse(t, key("old", 1)).Derive().Open("sender/1", id, sealed)
	require.Equal(t, fault.Limited, fault.ClassOf(err))

	for _, was := range []string{"new", "old"} {
		_, plainly, err := parse(t, key(was, map[string]byte{"new": 2, "old": 1}[was])).Seal("opt-outs", []byte("key"))
		require.NoError(t, err)
		plain, err := box.Open("opt-outs", was, plainly)
		require.NoError(t, err)
		require.Equal(t, "key", string(plain))
	}
	require.Empty(t, parse(t, "").Derive().Key())
	_, _, err = parse(t, "").Derive().Seal("sender/1", nil)
	require.ErrorContains(t, err, "CONVEYOR_SECRET_KEYS has no key")
}

func TestParse(t *testing.T) {
	t.Parallel()
	url := "u:" + base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb, 0xff}, 16))
	require.Equal(t, "u", parse(t, url).Key())
	require.Empty(t, parse(t, " ").Key())
	hidden := strings.Repeat("hunter2", 5)
	for s, says := range map[string]string{
		hidden:                          "entry 1: has no ID",
		":" + hidden:                    "entry 1: has no ID",
		"A:" + hidden:                   "entry 1: has no ID",
		"a:" + hidden:                   "base64 of 32 bytes",
		"a:":                            "base64 of 32 bytes",
		key("a", 1) + ",":               "entry 2: has no ID",
		key("a", 1) + "," + key("a", 2): "second one",
		key("a", 1)[:40]:                "base64 of 32 bytes",
	} {
		_, err := secret.Parse(s)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

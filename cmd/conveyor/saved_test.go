package main

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/secret"
)

// A worker that was not given the newest key yet waits for it. An address that no key can open is given up.
func TestNoticeWithoutKey(t *testing.T) {
	t.Parallel()
	box := func(id, fill string) *secret.Box {
		b, err := secret.Parse(id + ":" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(fill, 32))))
		require.NoError(t, err)
		return b
	}
	n := saved.Notice{Target: uuid.New(), Channel: saved.Webhook}
	var err error
	n.Sealed.Key, n.Sealed.Box, err = box("new", "n").Seal(saved.TargetPurpose(n.Target), []byte("{}"))
	require.NoError(t, err)
	for keys, want := range map[*secret.Box]fault.Class{box("old", "o"): fault.Limited, box("new", "o"): fault.Invalid} {
		err := notices{box: keys}.Send(t.Context(), n)
		class, _ := fault.Of(err)
		require.Equal(t, want, class, err)
	}
}

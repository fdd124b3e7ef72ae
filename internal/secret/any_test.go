package secret_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/secret"
)

func TestOpenAny(t *testing.T) {
	t.Parallel()

	box, err := secret.Parse("a:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	require.NoError(t, err)
	key, sealed, err := box.Seal("old", []byte("token"))
	require.NoError(t, err)
	plain, err := box.OpenAny(key, sealed, "new", "old")
	require.NoError(t, err)
	require.Equal(t, "token", string(plain))
	_, err = box.OpenAny(key, sealed, "new", "other")
	require.ErrorContains(t, err, "open new")
	_, err = box.OpenAny("gone", sealed, "new", "old")
	require.Equal(t, fault.Limited, fault.ClassOf(err))
	_, err = box.OpenAny(key, append(sealed[:len(sealed)-1:len(sealed)-1], sealed[len(sealed)-1]^1), "new", "old")
	require.Error(t, err)
}

package access_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestMay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		have, need access.Role
		want       bool
	}{
		{access.Read, access.Read, true},
		{access.Read, access.Operate, false},
		{access.Operate, access.Read, true},
		{access.Operate, access.Admin, false},
		{access.Admin, access.Operate, true},
		{"", access.Read, false},
		{"", "", false},
		{access.Admin, "", false},
		{"root", access.Read, false},
	} {
		require.Equal(t, tt.want, tt.have.May(tt.need), "%q may what needs %q", tt.have, tt.need)
	}
}

func TestParseRole(t *testing.T) {
	t.Parallel()
	for _, role := range access.Roles {
		got, err := access.ParseRole(string(role))
		require.NoError(t, err)
		require.Equal(t, role, got)
	}
	_, err := access.ParseRole("Admin")
	class, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, class)
}

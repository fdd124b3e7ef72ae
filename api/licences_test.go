package api_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
)

func TestLicences(t *testing.T) {
	t.Parallel()
	d := apitest.Bare(t)
	l := apitest.Read[api.LicenceList](t, d.Get(t, "/licences"), 200)
	at := slices.IndexFunc(l.Items, func(p api.LicensedPart) bool { return p.Name == "react-dom" })
	require.Equal(t, []string{"npm", "MIT"}, []string{l.Items[at].Kind, l.Items[at].Licence})
	require.Contains(t, l.Texts[*l.Items[at].Text], "Permission is hereby granted")
}

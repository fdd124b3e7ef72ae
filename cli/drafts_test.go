package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	apidrafts "github.com/mtlrent/conveyor/api/drafts"
)

func TestDraftSecrets(t *testing.T) {
	t.Parallel()
	c := draftRequestCmd{
		URL: "https://a.example/", Header: []string{"Authorization: Bearer a:b", "X-A:1"},
		Cookie: []string{"a=b=c", "d=; Path = /shop"},
	}
	require.NoError(t, c.Validate())
	r, err := c.request()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer a:b", "X-A": "1"}, r.Headers)
	require.Equal(t, []apidrafts.DraftCookie{{Name: "a", Value: "b=c"}, {Name: "d", Path: "/shop"}}, r.Cookies)
	for want, c := range map[string]draftRequestCmd{
		"header 1 is not NAME:VALUE":    {Header: []string{"s3cret"}},
		"header 2 is there twice":       {Header: []string{"A: s3cret", "A:s3cret"}},
		"cookie 1 is not NAME=VALUE":    {Cookie: []string{"s3cret"}},
		"cookie 2 is not NAME=VALUE":    {Cookie: []string{"a=b", "s3cret=x; domain=s3cret"}},
		"cookie 1 is not NAME=VALUE, ":  {Cookie: []string{"=s3cret"}},
		"are for one URL: those of a f": {File: "-", Header: []string{"A: s3cret"}},
	} {
		if c.File == "" {
			c.URL = "https://a.example/"
		}
		err := c.Validate()
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

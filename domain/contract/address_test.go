package contract_test

import (
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/contract"
)

// Addresses that browsers open are taken, whatever url.Parse says of their percent signs.
func TestEscaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://shop.example/100%-cotton":        "https://shop.example/100%25-cotton",
		"https://shop.example/%41%4%":             "https://shop.example/%41%254%25",
		"https://shop.example/a%2Fb?q=5%&r=%zz#%": "https://shop.example/a%2Fb?q=5%&r=%zz#%25",
		"https://shop.example?q=5%":               "https://shop.example?q=5%",
		"https://shop.example/#":                  "https://shop.example/#",
	} {
		assert.Equal(t, want, contract.Escaped(in), in)
		if _, err := url.Parse(want); err != nil {
			t.Error(err)
		}
		m := contract.CrawlRequested{EventID: uuid.NewString(), Data: contract.CrawlRequest{URL: in}}
		assert.NoError(t, m.Check(), in)
	}
	for in, want := range map[string]string{
		"/a/100%.jpg": "/a/100%25.jpg", "100%?q=5%#5%": "100%25?q=5%#5%25", "//cdn.example/100%": "//cdn.example/100%25",
		"https://a%b/100%": "https://a%b/100%25", "/x?to=https://b.example/100%": "/x?to=https://b.example/100%",
		"?q=%": "?q=%", "%41//%": "%41//%25", "": "", "//": "//",
	} {
		assert.Equal(t, want, contract.EscapedLink(in), in)
	}
	for _, in := range []string{"", "100%", "http://%zz/", "http://a%b"} {
		assert.Equal(t, in, contract.Escaped(in))
	}
}

package contract_test

import (
	"net/url"
	"testing"

	"github.com/google/uuid"

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
		if got := contract.Escaped(in); got != want {
			t.Errorf("Escaped(%q) = %q; want %q", in, got, want)
		}
		if _, err := url.Parse(want); err != nil {
			t.Error(err)
		}
		m := contract.CrawlRequested{EventID: uuid.NewString(), Data: contract.CrawlRequest{URL: in}}
		if err := m.Check(); err != nil {
			t.Errorf("Check of a request for %q = %v", in, err)
		}
	}
	for _, in := range []string{"", "100%", "http://%zz/", "http://a%b"} {
		if got := contract.Escaped(in); got != in {
			t.Errorf("Escaped(%q) = %q; want it as it is", in, got)
		}
	}
}

package chromium_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// What others are advised to start Chromium with, by errors and by docs/security.md, ours is started with. A second
// --disable-features would undo the first.
func TestAdvised(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	args := chromium.Args("profile", true)
	for _, a := range chromium.Advised {
		if !slices.ContainsFunc(args, func(own string) bool { return own == a || strings.HasPrefix(own, a+",") }) {
			t.Errorf("Args has no %s", a)
		}
		if !strings.Contains(string(doc), "`"+a+"`") {
			t.Errorf("docs/security.md has no %s", a)
		}
	}
	if n := strings.Count(strings.Join(args, " "), "--disable-features="); n != 1 {
		t.Errorf("Args has %d times --disable-features", n)
	}
}

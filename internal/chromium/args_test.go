package chromium_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// What others are advised to start Chromium with, by errors and by docs/security.md, ours is started with. A second
// --disable-features would undo the first.
func TestAdvised(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/security.md")
	require.NoError(t, err)
	args := chromium.Args("profile", true)
	for _, a := range chromium.Advised {
		if !slices.ContainsFunc(args, func(own string) bool { return own == a || strings.HasPrefix(own, a+",") }) {
			t.Errorf("Args has no %s", a)
		}
		assert.Contains(t, string(doc), "`"+a+"`", a)
	}
	require.Equal(t, 1, strings.Count(strings.Join(args, " "), "--disable-features="))
}

package contact_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contact"
)

func TestMask(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"+15145550199":                   "+15•••••••99",
		"(514) 555-0199":                 "(51•) •••-••99",
		"ana@example.org":                "an•@•••••••.•rg",
		"555-01":                         "•••-••", // too short to show any of it
		"Zoë\u202e":                      "••• ",
		strings.Repeat("\U0001f600", 70): strings.Repeat("\U0001f600", 60) + "…",
	} {
		require.Equal(t, want, contact.Mask(in), in)
	}
}

package cli

import (
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// A number with a minus sign is a value; another flag is none.
func TestSigned(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want []signed
		err  string // "" for none
	}{
		{args: []string{"--chat", "-100", "--chat=-200", "--chat", "@homes", "--chat", "-.5", "--on"},
			want: []signed{"-100", "-200", "@homes", "-.5"}},
		{args: []string{"--chat", "--on"}, err: "expected string value but got"},
		{args: []string{"--chat", "-o"}, err: "expected string value but got"},
		{args: []string{"--chat"}, err: "missing value"},
	} {
		var c struct {
			Chat []signed `sep:"none"`
			On   bool     `short:"o"`
		}
		parser, err := kong.New(&c)
		require.NoError(t, err)
		_, err = parser.Parse(tt.args)
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, tt.args)
			continue
		}
		require.NoError(t, err, tt.args)
		require.Equal(t, tt.want, c.Chat)
	}
}

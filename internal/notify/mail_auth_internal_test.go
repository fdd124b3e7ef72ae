package notify

import (
	"net/smtp"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// A password goes to its server only, and never in clear text, by whichever method.
func TestCredentials(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server smtp.ServerInfo
		method string // "" = none
	}{
		"PLAIN":        {smtp.ServerInfo{Name: "mail.example", TLS: true, Auth: []string{"LOGIN", "plain"}}, "PLAIN"},
		"LOGIN":        {smtp.ServerInfo{Name: "mail.example", TLS: true, Auth: []string{"XOAUTH2", "Login"}}, "LOGIN"},
		"not told":     {smtp.ServerInfo{Name: "mail.example", TLS: true}, "PLAIN"},
		"clear text":   {smtp.ServerInfo{Name: "mail.example", Auth: []string{"LOGIN"}}, ""},
		"another host": {smtp.ServerInfo{Name: "other.example", TLS: true, Auth: []string{"LOGIN"}}, ""},
	} {
		method, first, err := newCredentials(url.UserPassword("me", "hunter2"), "mail.example").Start(&tt.server)
		require.Equal(t, tt.method, method, name)
		require.Equal(t, tt.method == "", err != nil, name)
		require.Equal(t, tt.method == "PLAIN", len(first) > 0, name)
	}
}

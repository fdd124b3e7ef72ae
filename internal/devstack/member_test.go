package devstack

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A service that was ended stays away until it is asked for, and is prepared anew then: what it is may have changed.
func TestDownAndUp(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"stopped": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fakeStack(t)
			a, b := script(s, "a", polite("a")), script(s, "b", polite("b"), "a")
			prepared := 0
			a.prepare = func(context.Context) error { prepared++; return nil }
			require.NoError(t, s.launch(t.Context(), []*service{a, b}))
			first := s.Pid("a")
			require.NoError(t, s.Down(t.Context(), "a", kill))
			// Longer than any pause before a restart.
			for end := time.Now().Add(5 * s.pace.most); time.Now().Before(end); time.Sleep(s.pace.first) {
				require.Equal(t, 0, s.Pid("a"))
			}
			if alive(first) || s.Pid("b") == 0 {
				t.Errorf("process %d lives, or that of another service does not", first)
			}
			require.NoError(t, s.Up(t.Context(), ""))
			if !alive(s.Pid("a")) || prepared != 2 {
				t.Errorf("it runs: %t, prepared %d times; want it to run, prepared twice", alive(s.Pid("a")), prepared)
			}
			require.NoError(t, s.Down(t.Context(), "", kill))
			if s.Pid("a") != 0 || s.Pid("b") != 0 {
				t.Error("a service runs that was ended with all")
			}
			assert.Error(t, s.Down(t.Context(), "c", kill), "a service that is not there was ended")
		})
	}
}

// All members of a cluster have the same passwords, and keep them.
func TestMembersShareThePasswords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all []secrets
	for _, name := range []string{"a", "b", "a"} {
		member := filepath.Join(dir, name)
		require.NoError(t, SharePasswords(dir, member))
		s, err := loadSecrets(member)
		require.NoError(t, err)
		all = append(all, *s)
	}
	if all[0] != all[1] || all[0] != all[2] || all[0].Cookie == "" {
		t.Error("members have other passwords, or none")
	}
}

func TestMembersKnowTheOthers(t *testing.T) {
	t.Parallel()
	var none *Member
	m := &Member{Address: "198.18.0.12", Brokers: []string{"198.18.0.11", "198.18.0.12"}, Leader: "198.18.0.41:16379"}
	for name, c := range map[string]struct{ got, want string }{
		"nodes of the broker":  {m.rabbitConf(), "cluster_formation.classic_config.nodes.2 = rabbit@198.18.0.12\n"},
		"name of the node":     {strings.Join(m.rabbitEnv(), "\n"), "RABBITMQ_NODENAME=rabbit@198.18.0.12\n"},
		"address of the node":  {strings.Join(m.rabbitEnv(), "\n"), "inet_dist_use_interface {198,18,0,12}"},
		"leader of redis":      {m.redisConf("x"), "replicaof 198.18.0.41 16379\n"},
		"password of a leader": {m.redisConf("x"), "masterauth x\n"},
	} {
		assert.Contains(t, c.got, c.want, name)
	}
	if none.rabbitConf()+none.redisConf("x")+none.primary()+none.network() != "" || none.rabbitEnv() != nil ||
		none.postgresSettings() != nil || none.letIn("nowhere") != nil {
		t.Error("a stack that is no member is configured as one")
	}
	m.Follow("198.18.0.21:15432")
	require.Equal(t, "198.18.0.21:15432", m.primary(), "it follows")
}

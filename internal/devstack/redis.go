package devstack

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// redis holds only data that may expire, so it writes nothing to disk.
func (s *Stack) redis() ([]*service, error) {
	data := filepath.Join(s.opts.Dir, "data", Redis)
	config := filepath.Join(data, "redis.conf")
	at := s.addr(s.ports.Redis)
	return []*service{{
		name: Redis,
		at:   at,
		prepare: func(context.Context) error {
			// Not on the command line, which every process can read.
			return errors.Join(private(data), writePrivate(config, []byte("requirepass "+s.secrets.Redis+"\n"+
				s.opts.Member.redisConf(s.secrets.Redis))))
		},
		command: func() *exec.Cmd {
			cmd := exec.Command(s.tools.redis, config, "--bind", s.host(), "--port", strconv.Itoa(s.ports.Redis),
				"--save", "", "--appendonly", "no", "--dir", data, "--daemonize", "no", "--loglevel", "notice")
			cmd.Dir = data
			return cmd
		},
		probe: func(ctx context.Context) error {
			c := redis.NewClient(&redis.Options{Addr: at, Password: s.secrets.Redis, MaxRetries: -1})
			defer func() { _ = c.Close() }()
			return c.Ping(ctx).Err()
		},
		stopBy: syscall.SIGTERM,
		grace:  5 * time.Second,
		within: 30 * time.Second,
	}}, nil
}

package limit_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestDialWithTLS(t *testing.T) {
	t.Parallel()

	u, err := url.Parse(servicetest.Address(t, "REDIS_URL"))
	require.NoError(t, err)
	service := u.Host
	ours, other := servicetest.NewAuthority(t), servicetest.NewAuthority(t)
	cert, key := ours.Issue("client")
	u.Scheme = "rediss"
	for name, c := range map[string]struct {
		clients bool // need a certificate
		server  limit.Server
		says    string // "" when it works
	}{
		"private authority":       {false, limit.Server{CA: ours.CA}, ""},
		"authority not named":     {false, limit.Server{}, "unknown authority"},
		"another authority":       {false, limit.Server{CA: other.CA}, "unknown authority"},
		"client with certificate": {true, limit.Server{CA: ours.CA, Cert: cert, Key: key}, ""},
		"client without":          {true, limit.Server{CA: ours.CA}, "certificate required"},
	} {
		u.Host = ours.Front(service, c.clients, false)
		c.server.URL = u.String()
		rdb, err := limit.Dial(c.server)
		require.NoError(t, err, name)
		t.Cleanup(func() { _ = rdb.Close() })
		err = rdb.Ping(t.Context()).Err()
		if c.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.says, name)
	}
	for _, c := range []struct {
		server limit.Server
		says   string
	}{
		{limit.Server{URL: "redis://me:hunter2@%zz"}, "read REDIS_URL: not a URL"},
		{limit.Server{URL: u.String(), CA: "/nowhere/ca.pem"}, "read REDIS_CA_FILE: open /nowhere/ca.pem"},
		{limit.Server{URL: u.String(), CA: key}, "there is no certificate in " + key},
		{limit.Server{URL: u.String(), Cert: cert}, "read REDIS_CERT_FILE and REDIS_KEY_FILE"},
	} {
		_, err := limit.Dial(c.server)
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// Each Sentinel, and the master that it names, shows a certificate of its own name, which is not that of the first
// Sentinel: with the system's authorities as with those of a file.
func TestDialWithTLSOfSentinels(t *testing.T) {
	t.Parallel()

	u, err := url.Parse(servicetest.Address(t, "REDIS_URL"))
	require.NoError(t, err)
	ours := servicetest.NewAuthority(t)
	master := ours.Front(u.Host, false, false)
	sentinel := server(t, fmt.Sprintf("sentinel monitor conveyor %s 1\nsentinel down-after-milliseconds conveyor 600000\n",
		strings.Replace(master, ":", " ", 1)))
	q := url.Values{"master_name": {"conveyor"}, "addr": {ours.Front(fmt.Sprint("127.0.0.1:", sentinel), false, false)}}
	if u.User != nil {
		password, _ := u.User.Password()
		q.Set("username", u.User.Username())
		q.Set("password", password)
	}
	u.Scheme, u.Host, u.User, u.Path, u.RawQuery = "rediss", "127.0.0.2:1", nil, "", q.Encode()
	for name, file := range map[string]string{"authorities of the system": "", "authorities of a file": ours.CA} {
		rdb, err := limit.Dial(limit.Server{URL: u.String(), CA: file})
		require.NoError(t, err, name)
		t.Cleanup(func() { _ = rdb.Close() })
		if file == "" { // those of the system are read once a process, so ours is not among them
			require.ErrorContains(t, rdb.Ping(t.Context()).Err(), "unknown authority")
			client, ok := rdb.(*redis.Client)
			require.True(t, ok)
			pem, err := os.ReadFile(ours.CA)
			require.NoError(t, err)
			known := x509.NewCertPool()
			require.True(t, known.AppendCertsFromPEM(pem))
			client.Options().TLSConfig.RootCAs = known
		}
		require.NoError(t, rdb.Ping(t.Context()).Err(), name)
	}
}

// A master that dies is followed by its replica, which the Sentinel names.
func TestDialFollowsTheMaster(t *testing.T) {
	t.Parallel()

	master := server(t, "")
	replica := server(t, fmt.Sprintf("replicaof 127.0.0.1 %d\n", master))
	sentinel := server(t, fmt.Sprintf("sentinel monitor conveyor 127.0.0.1 %d 1\n"+
		"sentinel down-after-milliseconds conveyor 500\nsentinel failover-timeout conveyor 2000\n", master))
	rdb, err := limit.Dial(limit.Server{
		URL: fmt.Sprintf("redis://127.0.0.1:1?master_name=conveyor&addr=127.0.0.1:%d", sentinel),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = rdb.Close() })
	ctx := t.Context()
	port := func() string {
		at, err := rdb.ConfigGet(ctx, "port").Result()
		if err != nil {
			return ""
		}
		return at["port"]
	}
	require.Eventually(t, func() bool { return port() == fmt.Sprint(master) }, servicetest.Patience(), 50*time.Millisecond)
	watch := redis.NewClient(&redis.Options{Addr: fmt.Sprint("127.0.0.1:", sentinel)})
	t.Cleanup(func() { _ = watch.Close() })
	require.Eventually(t, func() bool { // a Sentinel promotes only replicas that it knows of
		all, err := watch.Do(ctx, "sentinel", "replicas", "conveyor").Slice()
		return err == nil && len(all) == 1
	}, servicetest.Patience(), 100*time.Millisecond)
	dying := redis.NewClient(&redis.Options{Addr: fmt.Sprint("127.0.0.1:", master)})
	_ = dying.ShutdownNoSave(ctx).Err() // it closes the connection
	_ = dying.Close()
	require.Eventually(t, func() bool {
		return port() == fmt.Sprint(replica) && rdb.Set(ctx, "k", "v", time.Minute).Err() == nil
	}, servicetest.Patience(), 50*time.Millisecond)
}

// server starts a Redis with a configuration of its own, or a Sentinel where that watches a master. It takes another port
// where someone has taken the first before it could.
func server(t *testing.T, conf string) (port int) {
	t.Helper()

	for range 5 {
		if port, ok := serverAt(t, free(t), conf); ok {
			return port
		}
	}
	require.Fail(t, "redis-server does not start")
	return 0
}

func free(t *testing.T) int {
	t.Helper()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // of a TCP listener
}

// serverAt is not ok where the process ends before it answers.
func serverAt(t *testing.T, at int, conf string) (port int, ok bool) {
	t.Helper()

	folder := t.TempDir()
	file := filepath.Join(folder, "redis.conf")
	conf = fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\n", at, folder) + conf
	args := []string{file}
	if strings.Contains(conf, "sentinel monitor") {
		args = append(args, "--sentinel")
	} else {
		conf += "save \"\"\nrepl-diskless-sync-delay 0\n"
	}
	require.NoError(t, os.WriteFile(file, []byte(conf), 0o600))
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "redis-server", args...)
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // ends with the process
	t.Cleanup(func() { cancel(); <-ended })
	rdb := redis.NewClient(&redis.Options{Addr: fmt.Sprint("127.0.0.1:", at)})
	defer rdb.Close()
	for until := time.Now().Add(servicetest.Patience()); rdb.Ping(t.Context()).Err() != nil; {
		select {
		case <-ended:
			return 0, false
		case <-time.After(20 * time.Millisecond):
		}
		require.True(t, time.Now().Before(until), "redis-server does not answer")
	}
	return at, true
}

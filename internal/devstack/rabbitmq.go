package devstack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// maxMessage is the largest message that the broker takes, in bytes: as in deploy/rabbitmq/conveyor.conf.
const maxMessage = 8 << 20

// rabbitmq is two processes: the broker, and the Erlang name service that it would otherwise start as a daemon and not
// stop. Each stack has its own name service on its own port, so the node name can be the same in all of them, and the
// broker finds its data again when its port was changed.
func (s *Stack) rabbitmq() ([]*service, error) {
	home := filepath.Join(s.opts.Dir, "data", RabbitMQ)
	env := s.rabbitEnv(home)
	epmd := &service{
		name:    "epmd",
		hidden:  true,
		prepare: func(context.Context) error { return private(home) },
		command: func() *exec.Cmd {
			cmd := exec.Command(s.tools.epmd, "-port", strconv.Itoa(s.ports.Epmd), "-address", s.host())
			cmd.Env, cmd.Dir = append(baseEnv(), env...), home
			return cmd
		},
		probe:  func(ctx context.Context) error { return dialTCP(ctx, s.addr(s.ports.Epmd)) },
		stopBy: syscall.SIGTERM,
		grace:  2 * time.Second,
		within: 15 * time.Second,
	}
	broker := &service{
		name:    RabbitMQ,
		needs:   []string{"epmd"},
		at:      s.addr(s.ports.RabbitMQ) + ", management http://" + s.addr(s.ports.Management),
		prepare: func(context.Context) error { return s.rabbitFiles(home) },
		command: func() *exec.Cmd {
			cmd := exec.Command(s.tools.rabbitmq)
			cmd.Env, cmd.Dir = append(baseEnv(), env...), home
			return cmd
		},
		probe: func(ctx context.Context) error {
			return errors.Join(pingAMQP(s.env["RABBITMQ_URL"]), pingHTTP(ctx, s.env["RABBITMQ_MANAGEMENT_URL"]+"/api/overview"))
		},
		settle: s.dropOldUser,
		stopBy: syscall.SIGTERM,
		grace:  20 * time.Second,
		within: 3 * time.Minute, // a busy machine
	}
	return []*service{epmd, broker}, nil
}

// rabbitEnv moves everything the broker's scripts look for from the system's folders into ours. rabbitmqctl finds the
// stack when it is run with the same variables: they are in data/rabbitmq/env.
func (s *Stack) rabbitEnv(home string) []string {
	in := func(name string) string { return filepath.Join(home, name) }
	env := []string{
		"HOME=" + home, // .erlang.cookie
		"ERL_EPMD_PORT=" + strconv.Itoa(s.ports.Epmd),
		"ERL_EPMD_ADDRESS=" + s.host(),
		"ERL_CRASH_DUMP_SECONDS=0",
		"RUNNING_UNDER_SYSTEMD=true", // makes the script exec the broker instead of standing between it and our signals
		"RABBITMQ_NODENAME=conveyor@localhost",
		"RABBITMQ_NODE_PORT=" + strconv.Itoa(s.ports.RabbitMQ),
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(s.ports.Dist),
		"RABBITMQ_CONF_ENV_FILE=" + in("rabbitmq-env.conf"),
		"RABBITMQ_CONFIG_FILE=" + in("rabbitmq.conf"),
		"RABBITMQ_ADVANCED_CONFIG_FILE=" + in("advanced.config"),
		"RABBITMQ_GENERATED_CONFIG_DIR=" + in("generated"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + in("enabled_plugins"),
		"RABBITMQ_MNESIA_BASE=" + in("mnesia"),
		"RABBITMQ_MNESIA_DIR=" + in("mnesia/conveyor"),
		"RABBITMQ_LOG_BASE=" + in("log"),
		"RABBITMQ_LOGS=-", // standard output, so ours
		"RABBITMQ_PID_FILE=" + in("rabbitmq.pid"),
		// Two schedulers that do not spin while idle, and node-to-node traffic on the loopback only.
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none " +
			"-kernel inet_dist_use_interface {" + strings.ReplaceAll(s.host(), ".", ",") + "}",
	}
	return append(env, s.opts.Member.rabbitEnv()...) // later ones win
}

func (s *Stack) rabbitFiles(home string) error {
	conf := fmt.Sprintf(`listeners.tcp.1 = %s
management.tcp.ip = %s
management.tcp.port = %d
load_definitions = %s
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 200MB
max_message_size = %d
log.console = true
log.console.level = info
log.file = false
`, s.addr(s.ports.RabbitMQ), s.host(), s.ports.Management, filepath.Join(home, "definitions.json"), maxMessage)
	conf += s.opts.Member.rabbitConf()
	definitions, err := rabbitDefinitions(s.secrets.RabbitMQ)
	if err != nil {
		return err
	}
	files := map[string]string{
		"rabbitmq.conf":     conf,
		"rabbitmq-env.conf": "",
		"definitions.json":  definitions,
		"advanced.config":   "[].\n",
		"enabled_plugins":   "[rabbitmq_management].\n",
		"env":               strings.Join(quoteAll(s.rabbitEnv(home)), "\n") + "\n",
	}
	if err := private(filepath.Join(home, "mnesia")); err != nil {
		return err
	}
	if s.opts.Member != nil {
		if err := s.cookie(home); err != nil {
			return err
		}
	}
	for name, text := range files {
		if err := writePrivate(filepath.Join(home, name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// rabbitUser is the administrator of a stack's broker.
const rabbitUser = "conveyor"

// rabbitDefinitions are what the broker is told at each start: its user, so that a broker of an older version, or one
// whose password was lost, has it too.
func rabbitDefinitions(password string) (string, error) {
	salt := make([]byte, 4)
	_, _ = rand.Read(salt) // it never fails
	hash := sha256.Sum256(append(salt, password...))
	text, err := json.MarshalIndent(map[string]any{
		"vhosts": []map[string]string{{"name": "/"}},
		"users": []map[string]any{{
			"name": rabbitUser, "tags": "administrator", "hashing_algorithm": "rabbit_password_hashing_sha256",
			"password_hash": base64.StdEncoding.EncodeToString(append(salt, hash[:]...)),
		}},
		"permissions": []map[string]string{{
			"user": rabbitUser, "vhost": "/", "configure": ".*", "write": ".*", "read": ".*",
		}},
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write definitions of the broker: %w", err)
	}
	return string(text), nil
}

// dropOldUser removes the administrator of older versions, whose password was public.
func (s *Stack) dropOldUser(ctx context.Context) error {
	status, _, err := Ask(ctx, http.MethodDelete, s.env["RABBITMQ_MANAGEMENT_URL"]+"/api/users/mtlrent")
	switch {
	case status == http.StatusNoContent:
		s.log.Warn("the user mtlrent of RabbitMQ, whose password was public, is removed: use the addresses in the file env")
	case err == nil && status != http.StatusNotFound:
		err = fmt.Errorf("remove the user mtlrent of RabbitMQ: status %d", status)
	}
	return err
}

func quoteAll(env []string) []string {
	out := make([]string, len(env))
	for i, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		out[i] = k + "=" + shellQuote(v)
	}
	return out
}

func dialTCP(ctx context.Context, at string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	return c.Close()
}

// pingAMQP opens and closes a connection, which needs the listener, the user and the virtual host.
func pingAMQP(url string) error {
	c, err := amqp.DialConfig(url, amqp.Config{Dial: amqp.DefaultDial(2 * time.Second)})
	if err != nil {
		return err
	}
	return c.Close()
}

func pingHTTP(ctx context.Context, url string) error { return GetJSON(ctx, url, nil) }

// GetJSON reads the answer of a local service into a value; nil is for the status alone.
func GetJSON(ctx context.Context, address string, into any) error {
	status, body, err := Ask(ctx, http.MethodGet, address)
	if err == nil && status != http.StatusOK {
		u, _ := url.Parse(address) // it was asked
		err = fmt.Errorf("GET %s: status %d", u.Redacted(), status)
	}
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// Ask sends a request without a body to a local service, and returns the status and up to 8 MiB of the answer.
func Ask(ctx context.Context, method, url string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	return resp.StatusCode, body, err
}

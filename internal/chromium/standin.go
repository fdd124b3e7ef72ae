package chromium

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/coder/websocket"
)

// The environment of a process that stands in for a Chromium of a Lender.
const (
	standInAt   = "CONVEYOR_STAND_IN" // the address of its WebSocket
	standInPass = "CONVEYOR_STAND_IN_AUTHORIZATION"
)

// StandInEnv is the environment in which this program, started by Playwright's driver with the arguments of a
// Chromium, stands in for one of a Lender. header has its password.
func StandInEnv(ws string, header map[string]string) map[string]string {
	return map[string]string{standInAt: ws, standInPass: header["Authorization"]}
}

// StandIn passes the messages of a driver on to a Chromium of a Lender, where this process was started in its place; it
// does not return then. Programs that make a browser.Browser call it before anything else.
func StandIn() {
	at := os.Getenv(standInAt)
	if at == "" {
		return
	}
	if err := standIn(context.Background(), at, os.Getenv(standInPass), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func standIn(ctx context.Context, at, pass string, args []string) error {
	u, err := url.Parse(at)
	if err != nil {
		return errors.New("the address of Chromium cannot be read")
	}
	query := u.Query()
	for _, arg := range args {
		if strings.HasPrefix(arg, "--") {
			query.Add("arg", arg)
		}
	}
	u.RawQuery = query.Encode()
	begin, done := context.WithTimeout(ctx, relayWithin)
	defer done()
	ws, _, err := websocket.Dial(begin, u.String(), &websocket.DialOptions{ //nolint:bodyclose // it closes the answer
		HTTPHeader: http.Header{"Authorization": {pass}}, CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return fmt.Errorf("connect to Chromium: %w", err)
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxMessage)
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with the driver
		defer cancel()
		_ = toSocket(ctx, ws, os.NewFile(3, "commands"), slog.New(slog.DiscardHandler))
		_ = ws.Close(websocket.StatusNormalClosure, "")
	}()
	err = fromSocket(ctx, ws, os.NewFile(4, "messages"))
	var closed websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Reason != "":
		return fmt.Errorf("end of Chromium: %s", closed.Reason)
	case websocket.CloseStatus(err) == websocket.StatusNormalClosure || ctx.Err() != nil:
		return nil
	}
	return err
}

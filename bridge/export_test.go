package bridge

import (
	"context"
	"log/slog"
)

// Establish declares a bridge's topology, as Run does before anything else.
func Establish(ctx context.Context, o Options) error {
	connect := newConnector(o.URL, "conveyor test", nil)
	defer connect.close()
	conn, err := connect.get(ctx)
	if err != nil {
		return err
	}
	return newTopology(o).establish(conn, slog.New(slog.DiscardHandler))
}

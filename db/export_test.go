package db

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// CancelWithin sets how long the server has to cancel a statement whose context has ended.
func CancelWithin(d time.Duration) Option { return func(conf *pgxpool.Config) { canceling(conf, d) } }

// GiveWayAfter sets for how long a migration waits for the lock of a table.
func GiveWayAfter(d time.Duration) MigrateOption { return func(m *migrator) { m.wait = d } }

// Typed is what connections know of types.
var Typed = typed

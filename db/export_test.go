package db

import (
	"time"
)

// GiveWayAfter sets for how long a migration waits for the lock of a table.
func GiveWayAfter(d time.Duration) MigrateOption { return func(m *migrator) { m.wait = d } }

// Typed is what connections know of types.
var Typed = typed

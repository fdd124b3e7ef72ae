package db

import (
	"fmt"

	"github.com/pressly/goose/v3/lock"
)

// sessionLocker lets one process migrate at a time; the others wait up to a minute.
func sessionLocker() (lock.SessionLocker, error) {
	l, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60))
	if err != nil {
		return nil, fmt.Errorf("make migration lock: %w", err)
	}
	return l, nil
}

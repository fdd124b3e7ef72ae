package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// outage is how long our database is away or a table locked: longer than one try at a step, which is 15 seconds.
func outage(most time.Duration) time.Duration {
	if *long {
		return most
	}
	return 17 * time.Second
}

// under lets adverts come in while something is away.
func (w *world) under(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end) && pause(w.ctx, 500*time.Millisecond); {
		w.tempt()
	}
}

// appDatabaseAway takes our Postgres away, which then refuses connections. Temporal has its own and hands out work.
func appDatabaseAway(w *world) (string, error) {
	if !w.postgres.TryLock() {
		return "", errBusy
	}
	defer w.postgres.Unlock()
	ctx, cancel := context.WithTimeout(w.ctx, outage(40*time.Second)+servicetest.Patience())
	defer cancel()
	back := make(chan error, 1)
	d := outage(40 * time.Second)
	go func() { back <- w.app.Restart(ctx, devstack.Postgres, true, d) }()
	w.under(d)
	return "", <-back
}

const sqlSessions = `
SELECT count(*) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND application_name NOT LIKE 'faults%'`

// appDatabaseFrozen makes our Postgres hang: it takes connections and statements, and answers none.
func appDatabaseFrozen(w *world) (string, error) {
	if !w.postgres.TryLock() {
		return "", errBusy
	}
	defer w.postgres.Unlock()
	ours := 0
	if err := eventually(w.ctx, servicetest.Patience(), func() bool { // sessions that will hang, and not only new ones
		w.tempt()
		return w.db.QueryRow(w.ctx, sqlSessions).Scan(&ours) == nil && ours > 5
	}); err != nil {
		return "", fmt.Errorf("%d sessions: %w", ours, err)
	}
	pid := w.app.Pid(devstack.Postgres)
	if pid == 0 {
		return "", errors.New("it does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // from here on it starts no more of them
		return "", err
	}
	sessions, err := children(pid)
	for _, p := range sessions {
		_ = syscall.Kill(p, syscall.SIGSTOP) // it may have ended
	}
	w.under(outage(40 * time.Second))
	for _, p := range append(sessions, pid) {
		if syscall.Kill(p, syscall.SIGCONT) != nil && p == pid {
			err = errors.Join(err, errors.New("it has ended"))
		}
	}
	return fmt.Sprintf(": %d processes", len(sessions)+1), err
}

// children are the processes that a process has started and that run.
func children(pid int) (list []int, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range threads {
		text, _ := os.ReadFile(path) // it may have ended
		for _, word := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
	}
	return list, err
}

// lockTable keeps every writer of a table waiting, as an index that is built over a large one does.
func (w *world) lockTable(table string) (string, error) {
	d := outage(30 * time.Second)
	ctx, cancel := context.WithTimeout(w.ctx, d+servicetest.Patience())
	defer cancel()
	conn, err := pgx.Connect(ctx, named(w.vars["DATABASE_URL"], "faults"))
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return "", err
	}
	if _, err := tx.Exec(ctx, "LOCK TABLE "+table+" IN SHARE MODE"); err != nil {
		return "", err
	}
	w.under(d)
	return "", tx.Rollback(ctx)
}

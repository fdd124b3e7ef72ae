package backlog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/backlog"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		r    backlog.Report
		want []string
	}{
		{"nothing waits", backlog.Report{}, []string{}},
		{"a service is away", backlog.Report{Services: map[string]string{backlog.Redis: backlog.Away}},
			[]string{"redis is away"}},
		{"events on their way", backlog.Report{Outbox: backlog.Outbox{Pending: 500, OldestAgeSeconds: 2}}, []string{}},
		{"events that wait", backlog.Report{Outbox: backlog.Outbox{Pending: 5, OldestAgeSeconds: 90.4}},
			[]string{"outbox: the oldest of 5 messages waits for 1m30s"}},
		{"events that nobody takes", backlog.Report{Outbox: backlog.Outbox{Pending: 5, Refused: 2}},
			[]string{"outbox: messages that the broker refuses: 2"}},
		{"a long queue that is consumed", backlog.Report{Queues: []backlog.Queue{
			{Name: "scraped.kijiji", Ready: 1e6, Consumers: 1, Ours: true}}}, []string{}},
		{"a queue of ours without a consumer", backlog.Report{Queues: []backlog.Queue{
			{Name: "scraped.kijiji", Ours: true}}}, []string{"queue scraped.kijiji: no consumer"}},
		{"a bridge that is gone", backlog.Report{Queues: []backlog.Queue{
			{Name: "a", Ours: true}, {Name: "a.dlq", Ours: true, DeadLetters: true}, {Name: "b", Ours: true},
			{Name: "c", Ours: true}, {Name: "d", Ours: true, Consumers: 1}, {Name: "e", Missing: true}}},
			[]string{"queue e: there is no such queue", "queues a, a.dlq, b and 1 more: no consumer"}},
		{"one of others", backlog.Report{Queues: []backlog.Queue{{Name: "listings.published", Ready: 9}}}, []string{}},
		{"a queue that there is not", backlog.Report{Queues: []backlog.Queue{{Name: "listings.ready", Missing: true}}},
			[]string{"queue listings.ready: there is no such queue"}},
		{"dead letters without a queue go to Postgres", backlog.Report{Queues: []backlog.Queue{
			{Name: "listings.ready.dlq", Missing: true, DeadLetters: true, Ours: true}}}, []string{}},
		{"no worker", backlog.Report{TaskQueues: []backlog.TaskQueue{{Name: "images", Type: backlog.ActivityTasks}}},
			[]string{"task queue images (activity): no worker"}},
		{"images wait for their host", backlog.Report{TaskQueues: []backlog.TaskQueue{
			{Name: "images", Type: backlog.ActivityTasks, Workers: 1, Backlog: 1e4, OldestAgeSeconds: 3600}}}, []string{}},
		{"workflows wait for a worker", backlog.Report{TaskQueues: []backlog.TaskQueue{
			{Name: "listings", Type: backlog.WorkflowTasks, Workers: 1, Backlog: 10, OldestAgeSeconds: 61}}},
			[]string{"task queue listings (workflow): a task waits for 1m1s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := tt.r
			r.Judge()
			require.Equal(t, tt.want, r.Warnings)
		})
	}
}

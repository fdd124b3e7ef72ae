package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/domain/backlog"
)

func TestQueueHistory(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	rate := 1.5
	sample := func(ago time.Duration, ready int64) {
		r := backlog.Report{
			Queues:      []backlog.Queue{{Name: "scraped.kijiji", Ready: ready, Rates: backlog.Rates{PublishRate: &rate}}},
			TaskQueues:  []backlog.TaskQueue{{Name: "listings", Type: "workflow", Backlog: 2, AddRate: 1, DispatchRate: 1}},
			DeadLetters: []backlog.DeadCount{{Open: 3}, {Open: 4}}, Unknown: []string{backlog.PartOutbox},
		}
		require.NoError(t, d.History.Store.Add(t.Context(), r.Samples(), apitest.Now.Add(-ago)))
	}
	sample(49*time.Hour, 99) // the next one deletes it
	sample(2*time.Hour, 5)
	sample(60*time.Second, 12)
	sample(45*time.Second, 50) // another process was there before
	sample(30*time.Second, 10)
	get := func(query string) api.QueuePast {
		return apitest.Read[api.QueuePast](t, d.Get(t, "/queues/history"+query), 200)
	}
	hour := get("")
	require.Len(t, hour.Queues, 3)
	require.Equal(t, api.QueueSeries{Kind: "postgres", Queue: "dead_letters", Points: []api.QueuePoint{
		{At: apitest.Now.Add(-time.Minute), Ready: 7}, {At: apitest.Now.Add(-30 * time.Second), Ready: 7},
	}}, hour.Queues[0])
	require.Equal(t, api.QueueSeries{Kind: "rabbitmq", Queue: "scraped.kijiji", Points: []api.QueuePoint{
		{At: apitest.Now.Add(-time.Minute), Ready: 12, In: &rate}, {At: apitest.Now.Add(-30 * time.Second), Ready: 10, In: &rate},
	}}, hour.Queues[1])
	two := get("?window=48h&queue=scraped.kijiji").Queues
	require.Len(t, two, 1)
	require.Equal(t, []int64{5, 12}, []int64{two[0].Points[0].Ready, two[0].Points[1].Ready})
	require.Empty(t, get("?queue=none").Queues)
	apitest.Refused(t, d.Get(t, "/queues/history?window=1y"), 422)
}

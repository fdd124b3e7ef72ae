package main

import (
	"context"
	"time"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/db"
)

type bridgeCmd struct{}

func (bridgeCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.measured(ctx, h.bridge) })
}

// bridge carries messages until ctx ends.
func (h *house) bridge(ctx context.Context) error {
	outbox := db.NewOutbox(h.pool)
	if url := h.config.Postgres.ListenURL; url != "" {
		if err := outbox.ListenAt(url); err != nil {
			return err
		}
	}
	b := &bridge.Bridge{
		Options: h.bridgeOptions(), DeadLetters: db.NewDeadLetters(h.pool, nil), Outbox: outbox,
		Metrics: bridge.NewMetrics(h.registry), Log: h.log, Now: time.Now,
	}
	return b.Run(ctx)
}

// bridgeOptions are those of the bridge, and of the inspector that watches its queues.
func (h *house) bridgeOptions() bridge.Options {
	c := h.config
	o := bridge.Options{
		URLs: c.RabbitMQ.URLs(), QueueType: c.RabbitMQ.QueueType, Declare: c.RabbitMQ.Declare, Prefetch: c.RabbitMQ.Prefetch,
		Hold: c.RabbitMQ.Hold, ArchiveDeadLetters: c.Listings.ArchiveDeadLetters, Relays: c.Outbox.Relays,
		Retention: c.Outbox.Retention, GiveUp: c.Outbox.GiveUp, Version: version(), Traces: h.traces,
	}
	for _, s := range h.systems() {
		o.Queues = append(o.Queues, s.queues...)
	}
	return o
}

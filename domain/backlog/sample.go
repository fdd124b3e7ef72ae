package backlog

// A Sample is what waits in a queue.
type Sample struct {
	Kind  string // rabbitmq workflow activity postgres
	Queue string
	Ready int64
	In    *float64 // a second; nil = not known
	Done  *float64
}

// Samples are the queues of a report, those of Temporal by their types, the outbox and the open dead letters. Parts
// that are not known are left out.
func (r *Report) Samples() (out []Sample) {
	for _, q := range r.Queues {
		if !q.Missing {
			out = append(out, Sample{RabbitMQ, q.Name, q.Ready, q.PublishRate, q.AckRate})
		}
	}
	for _, q := range r.TaskQueues {
		out = append(out, Sample{q.Type, q.Name, q.Backlog, &q.AddRate, &q.DispatchRate})
	}
	if r.Knows(PartOutbox) {
		out = append(out, Sample{Kind: Postgres, Queue: PartOutbox, Ready: r.Outbox.Pending})
	}
	if r.Knows(PartDeadLetters) {
		var open int64
		for _, d := range r.DeadLetters {
			open += d.Open
		}
		out = append(out, Sample{Kind: Postgres, Queue: PartDeadLetters, Ready: open})
	}
	return out
}

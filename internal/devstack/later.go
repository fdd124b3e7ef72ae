package devstack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// later is a service that is built and started after Start has returned, for building it takes minutes and nothing
// needs it.
type later struct {
	cancel context.CancelFunc
	gone   chan struct{} // closed when nothing is left to do
}

// Follows says whether a service is still to be built and started, when Start has returned.
func (s *Stack) Follows(name string) bool { return name == TemporalUI && len(s.unbuilt) > 0 }

// follow builds the service of a keeper and starts it, and does the rest. Until the service answers, its address at
// says how it is. Stop ends all this.
func (s *Stack) follow(k *keeper, at string, build, rest func(context.Context) error) error {
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return fmt.Errorf("say at %s that %s is being built: %w", at, k.svc.name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.later = &later{cancel, make(chan struct{})}
	go func() {
		defer close(s.later.gone)
		takeDown, say := sign(listener, s.guardUI,
			k.svc.name+" is being built, some minutes the first time; everything else runs")
		err := build(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Warn("a service cannot be built; everything else runs", "service", k.svc.name, "err", err)
			say(k.svc.name + " cannot be built: " + err.Error())
			<-ctx.Done()
		}
		takeDown()
		if err != nil {
			return
		}
		if err := k.start(ctx); err != nil {
			if ctx.Err() == nil {
				s.log.Warn("a service does not start; everything else runs", "service", k.svc.name, "err", err)
			}
			return
		}
		s.log.Info("a service is ready", "service", k.svc.name, "at", k.svc.at)
		if err := rest(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("tools for persons cannot be built; everything runs", "err", err)
		}
	}()
	return nil
}

// sign answers every request that a guard lets pass with a sentence, which say replaces, and has browsers ask again.
func sign(l net.Listener, guard func(http.Handler) http.Handler, sentence string) (takeDown func(), say func(string)) {
	var now atomic.Pointer[string]
	say = func(text string) { now.Store(&text) }
	say(sentence)
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.Header().Set("Refresh", "10")
			w.Header().Set("Retry-After", "10")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = fmt.Fprintln(w, *now.Load())
		})),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // until it is closed
	return func() { _ = server.Close(); serving.Wait() }, say
}

// followUI builds what was left for later, and starts it.
func (s *Stack) followUI() error {
	return s.follow(s.follower, s.addr(s.ports.TemporalUI), s.building(s.unbuilt[:1]), s.building(s.unbuilt[1:]))
}

package demosite

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// A Fault is how a half misbehaves from now on. The first one that fits a request decides.
type Fault struct {
	Platform string // Kijiji, Kangalou or Centris
	// Kind is 429, 403, 503, captcha, slow (a byte at a time), half (the page ends in the middle, as if it were whole),
	// cut (the connection does), shape (the page is built otherwise: a parser finds nothing) or empty (a search without
	// results; detail pages are as ever).
	Kind       string
	RetryAfter time.Duration // with 429 and 503; 0 = the header is left out
	Times      int           // requests; 0 = no limit
	For        time.Duration // from now on; 0 = until Mend
	Pages      string        // "search", "detail" or "all", which "" is too
}

// kinds are the kinds of Fault, each with a description for people.
var kinds = [][2]string{
	{"429", "too many requests"}, {"403", "forbidden"}, {"503", "unavailable"},
	{"captcha", "a CAPTCHA page, with status 200"}, {"slow", "a byte at a time"},
	{"half", "half a page that says it is whole"}, {"cut", "the connection cut in the middle"},
	{"shape", "the same page, built otherwise"}, {"empty", "a search without results"},
}

// maxFaults bounds the script.
const maxFaults = 100

type script struct {
	Fault
	until time.Time // zero = for ever
	left  int       // requests; -1 = no limit
}

// Break puts a fault on the script.
func (s *Site) Break(f Fault) error {
	if _, err := s.half(f.Platform); err != nil {
		return err
	}
	switch {
	case !isKind(f.Kind):
		return fmt.Errorf("break %q: kind %q is unknown; \"/\" lists those there are", f.Platform, f.Kind)
	case !slices.Contains([]string{"", "all", "search", "detail"}, f.Pages):
		return fmt.Errorf("break %q: pages is %q; want search, detail or all", f.Platform, f.Pages)
	case f.Times < 0 || f.For < 0 || f.RetryAfter < 0:
		return fmt.Errorf("break %q: times, for and retry_after are not negative", f.Platform)
	}
	line := script{Fault: f, left: f.Times}
	if f.Times == 0 {
		line.left = -1
	}
	now := s.o.Now()
	if f.For > 0 {
		line.until = now.Add(f.For)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = slices.DeleteFunc(s.script, func(l script) bool { return l.over(now) })
	if len(s.script) >= maxFaults {
		return fmt.Errorf("break %q: %d faults are on the script already", f.Platform, maxFaults)
	}
	s.script = append(s.script, line)
	return nil
}

// Mend takes every fault off the script, of one half or, with "", of both.
func (s *Site) Mend(platform string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = slices.DeleteFunc(s.script, func(l script) bool { return platform == "" || l.Platform == platform })
}

func isKind(kind string) bool {
	return slices.ContainsFunc(kinds, func(k [2]string) bool { return k[0] == kind })
}

func (l script) over(now time.Time) bool {
	return l.left == 0 || !l.until.IsZero() && !now.Before(l.until)
}

// fault is the fault that this request meets. A query ?fault=kind&retry_after=seconds goes before the script.
func (s *Site) fault(platform, pages string, r *http.Request) Fault {
	if q := r.URL.Query(); isKind(q.Get("fault")) {
		seconds, _ := strconv.Atoi(q.Get("retry_after"))
		return Fault{Kind: q.Get("fault"), RetryAfter: time.Duration(max(0, seconds)) * time.Second}
	}
	now := s.o.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.script {
		l := &s.script[i]
		if l.over(now) || l.Platform != platform || l.Pages != "" && l.Pages != "all" && l.Pages != pages {
			continue
		}
		if l.left > 0 {
			l.left--
		}
		return l.Fault
	}
	return Fault{}
}

// view answers with a half's pages, and with its faults.
func (s *Site) view(platform, pages string, render func(r *http.Request, kind string) reply) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := s.fault(platform, pages, r)
		switch f.Kind {
		case "429", "403", "503":
			if f.RetryAfter > 0 {
				w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
			}
			code, _ := strconv.Atoi(f.Kind)
			http.Error(w, "demo: "+http.StatusText(code), code)
			return
		case "captcha":
			WritePage(w, "Are you a robot?", `<p>Verify you are human to go on.</p><div class="g-recaptcha box" `+
				`data-sitekey="demo">[ ] I am not a robot</div>`)
			return
		}
		p := render(r, f.Kind)
		if p.location != "" {
			w.Header().Set("Location", p.location)
			w.WriteHeader(p.status)
			return
		}
		page := bytes.ReplaceAll(p.body, []byte(here), []byte(origin(r)))
		w.Header().Set("Content-Type", p.contentType)
		switch f.Kind {
		case "slow":
			s.drip(w, r, page)
			return
		case "half":
			page = page[:len(page)/2]
		case "cut":
			w.Header().Set("Content-Length", strconv.Itoa(len(page)))
			_, _ = w.Write(page[:len(page)/2])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		w.WriteHeader(p.status)
		_, _ = w.Write(page)
	})
}

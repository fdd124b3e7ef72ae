package demosite

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// admin adds the endpoints that drive the site. They need no authentication: the site is for loopback.
func (s *Site) admin() {
	s.mux.HandleFunc("GET /admin/adverts", func(w http.ResponseWriter, r *http.Request) {
		list := []Advert{}
		for _, platform := range []string{Kijiji, Kangalou, Centris} {
			if p := r.URL.Query().Get("platform"); p != "" && p != platform {
				continue
			}
			some, _ := s.Adverts(platform) // all are there
			list = append(list, some...)
		}
		for i := range list {
			list[i].URL = origin(r) + list[i].URL
		}
		answer(w, http.StatusOK, list)
	})
	s.mux.HandleFunc("POST /admin/adverts", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Platform string `json:"platform"`
		}
		if !read(w, r, &in) {
			return
		}
		a, err := s.Publish(in.Platform)
		s.answer(w, r, http.StatusCreated, a, err)
	})
	s.mux.HandleFunc("PATCH /admin/adverts/{id}", func(w http.ResponseWriter, r *http.Request) {
		var in Change
		if !read(w, r, &in) {
			return
		}
		a, err := s.Patch(s.platformOf(r.PathValue("id")), r.PathValue("id"), in)
		s.answer(w, r, http.StatusOK, a, err)
	})
	s.mux.HandleFunc("POST /admin/faults", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Platform   string `json:"platform"`
			Kind       string `json:"kind"`
			RetryAfter int    `json:"retry_after"` // seconds
			Times      int    `json:"times"`
			For        string `json:"for"` // as Go writes a duration: 90s
			Pages      string `json:"pages"`
		}
		if !read(w, r, &in) {
			return
		}
		f := Fault{Platform: in.Platform, Kind: in.Kind, Times: in.Times, Pages: in.Pages,
			RetryAfter: time.Duration(in.RetryAfter) * time.Second}
		if in.For != "" {
			var err error
			if f.For, err = time.ParseDuration(in.For); err != nil {
				answer(w, http.StatusUnprocessableEntity, problem{"for: " + err.Error()})
				return
			}
		}
		if err := s.Break(f); err != nil {
			s.answer(w, r, 0, Advert{}, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	s.mux.HandleFunc("DELETE /admin/faults", func(w http.ResponseWriter, r *http.Request) {
		s.Mend(r.URL.Query().Get("platform"))
		w.WriteHeader(http.StatusNoContent)
	})
}

// endpoints lists the endpoints that admin adds, for people.
var endpoints = [][2]string{
	{"GET /admin/adverts?platform=kijiji", "all adverts of the site, the removed ones too"},
	{"POST /admin/adverts", `a new advert, now: {"platform":"kijiji"}`},
	{"PATCH /admin/adverts/{id}", `change one: {"price_cents":90000,"title":"…","removed":true,"bump":true}, each optional`},
	{"POST /admin/faults", `misbehave: {"platform":"kijiji","kind":"429","retry_after":30,"times":5,"for":"2m","pages":"search"},` +
		` only the first two required; pages is search, detail or all`},
	{"DELETE /admin/faults?platform=kijiji", "behave again"},
	{"POST /admin/hook, GET /admin/hook", "a webhook for saved searches, and the newest of what it was told"},
}

// platformOf is the half that an ID belongs to, "" for none.
func (s *Site) platformOf(id string) string {
	for platform, h := range s.halves {
		if _, ok := s.one(h, id, s.o.Now()); ok {
			return platform
		}
	}
	return ""
}

type problem struct {
	Error string `json:"error"`
}

func (s *Site) answer(w http.ResponseWriter, r *http.Request, status int, a Advert, err error) {
	switch {
	case errors.Is(err, ErrUnknown):
		answer(w, http.StatusNotFound, problem{err.Error()})
	case err != nil:
		answer(w, http.StatusUnprocessableEntity, problem{err.Error()})
	default:
		a.URL = origin(r) + a.URL
		answer(w, status, a)
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

// read reads a request's JSON. False means that the answer is given.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		answer(w, http.StatusBadRequest, problem{"read the request: " + err.Error()})
		return false
	}
	return true
}

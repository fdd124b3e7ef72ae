package cloudapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// admin adds the endpoints that drive the API. They need no authentication: it is for loopback.
func (a *API) admin() {
	a.mux.HandleFunc("GET /admin/counts", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, struct {
			Counts
			Most int `json:"most_in_a_second"`
		}{a.Counts(), a.Most(time.Second)})
	})
	a.mux.HandleFunc("GET /admin/ledger", func(w http.ResponseWriter, r *http.Request) {
		all := a.Ledger()
		if n, err := strconv.Atoi(r.URL.Query().Get("last")); err == nil && n >= 0 {
			all = all[max(0, len(all)-n):]
		}
		if all == nil {
			all = []Accepted{}
		}
		answer(w, http.StatusOK, all)
	})
	a.mux.HandleFunc("DELETE /admin/ledger", func(w http.ResponseWriter, _ *http.Request) {
		a.Forget()
		w.WriteHeader(http.StatusNoContent)
	})
	a.mux.HandleFunc("POST /admin/rules", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Sender     string   `json:"sender"`
			To         string   `json:"to"`
			Times      int      `json:"times"`
			Code       int      `json:"code"`
			Subcode    int      `json:"subcode"`
			Status     int      `json:"status"`
			RetryAfter duration `json:"retry_after"`
			Cut        Cut      `json:"cut"`
			Delay      duration `json:"delay"`
			Fail       int      `json:"fail"`
			Webhooks   Webhooks `json:"webhooks"`
			Late       duration `json:"late"`
		}
		if read(w, r, &in) {
			reply(w, a.Script(Rule{
				Sender: in.Sender, To: in.To, Times: in.Times, Code: in.Code, Subcode: in.Subcode, Status: in.Status,
				RetryAfter: time.Duration(in.RetryAfter), Cut: in.Cut, Delay: time.Duration(in.Delay), Fail: in.Fail,
				Webhooks: in.Webhooks, Late: time.Duration(in.Late),
			}))
		}
	})
	a.mux.HandleFunc("DELETE /admin/rules", func(w http.ResponseWriter, _ *http.Request) {
		a.Behave()
		w.WriteHeader(http.StatusNoContent)
	})
	a.mux.HandleFunc("PUT /admin/limits", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Limits
			Every duration `json:"pair_every"`
		}
		if read(w, r, &in) {
			in.PairEvery = time.Duration(in.Every)
			a.SetLimits(in.Limits)
			reply(w, nil)
		}
	})
	a.mux.HandleFunc("POST /admin/inbound", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Sender string `json:"sender"`
			From   string `json:"from"`
			Text   string `json:"text"`
		}
		if read(w, r, &in) {
			a.Inbound(in.Sender, in.From, in.Text)
			reply(w, nil)
		}
	})
}

// duration is a time.Duration as Go writes it: 90s.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err //nolint:wrapcheck // encoding/json adds the field
}

func reply(w http.ResponseWriter, err error) {
	if err != nil {
		answer(w, http.StatusUnprocessableEntity, map[string]string{"error": err.Error()})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// read reads a request's JSON. False means that the answer is given.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"error": "read the request: " + err.Error()})
		return false
	}
	return true
}

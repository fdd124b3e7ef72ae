package draft

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Stored is the source of a value that another system had stored: where it stood on its page is not known.
const Stored Source = "stored"

// storedConfidence is of such a value: nobody has counted how often they are right.
const storedConfidence = 0.5

// storedColumns are what a row of another system's drafts is read for, with the names that columns have for it. The
// first that has a value counts.
var storedColumns = map[string][]string{
	"event_id":     {"event_id", "request_id", "id"},
	"url":          {"url", "source_url", "page_url"},
	"final_url":    {"final_url", "resolved_url"},
	"error":        {"error", "error_message", "failure"},
	"http_status":  {"http_status", "status_code"},
	"crawled_at":   {"crawled_at", "updated_at", "created_at"},
	"name":         {"name", "title", "product_name"},
	"description":  {"description"},
	"brand":        {"brand", "manufacturer"},
	"price":        {"price", "current_price"},
	"currency":     {"currency", "price_currency"},
	"availability": {"availability", "stock_status"},
	"sku":          {"sku"},
	"gtin":         {"gtin", "gtin13", "ean", "upc", "barcode"},
	"mpn":          {"mpn"},
}

var storedNamespace = uuid.MustParse("0d1e9c1b-3f1c-5c0b-8a76-6f2f0b1d7a40")

// FromStored reads a draft that another system has stored in a table, by the names of its columns. An event ID that is
// no UUID becomes one, always the same. The error is contract.Errors, by field; the columns without a meaning here are
// left out.
func FromStored(values map[string]string) (Result, *Document, error) {
	var wrong contract.Errors
	values = unfolded(values)
	get := func(field string) string {
		for _, column := range storedColumns[field] {
			if v := strings.TrimSpace(values[column]); v != "" {
				return v
			}
		}
		return ""
	}
	refuse := func(field, format string, args ...any) {
		wrong = append(wrong, contract.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
	found := func(field string) *Found[string] {
		if v := get(field); v != "" {
			return &Found[string]{Value: v, Source: Stored, Confidence: storedConfidence}
		}
		return nil
	}
	r := Result{Request: Request{URL: get("url"), OutDir: DefaultOutDir}, Outcome: Succeeded, Error: get("error")}
	if id := get("event_id"); id == "" {
		refuse("event_id", "is missing")
	} else if r.EventID, _ = uuid.Parse(id); r.EventID == uuid.Nil {
		r.EventID = uuid.NewSHA1(storedNamespace, []byte(id))
	}
	if err := (contract.CrawlRequest{URL: r.URL}).Check(); err != nil {
		refuse("url", "is no absolute http(s) address without a password")
	}
	at, err := storedTime(get("crawled_at"))
	if r.CrawledAt = at; err != nil {
		refuse("crawled_at", "%s", err)
	}
	if text := get("http_status"); text != "" {
		if r.Status, err = strconv.Atoi(text); err != nil || r.Status < 100 || r.Status > 599 {
			refuse("http_status", "is %q, expected 100 to 599", text)
		}
	}
	d := &Document{URL: r.URL, FinalURL: get("final_url"), Status: r.Status, CrawledAt: r.CrawledAt, EventID: &r.EventID}
	d.Draft = Draft{
		Name: found("name"), Description: found("description"), Brand: found("brand"), Price: found("price"),
		Currency: found("currency"), SKU: found("sku"), GTIN: found("gtin"), MPN: found("mpn"),
	}
	for _, field := range []string{"brand", "currency", "availability", "sku", "mpn"} {
		if n := len(get(field)); n > maxStoredCode {
			refuse(field, "has %d bytes, the most is %d", n, maxStoredCode)
		}
	}
	if !d.Draft.conform(get("availability")) {
		refuse("price", "is %q, expected a decimal number", d.Draft.Price.Value)
	}
	if len(wrong) > 0 {
		return r, nil, wrong
	}
	if r.Error != "" {
		r.Outcome, r.Class = Failed, fault.Invalid
		return r, nil, nil
	}
	return r, d, nil
}

// maxStoredCode is how long a value is that drafts are found by, in bytes: no index of Postgres takes 2,704.
const maxStoredCode = 1000

// conform writes the values that drafts are found by as those of our own are written, and says whether the price is
// one.
func (d *Draft) conform(availability string) (priced bool) {
	currency := ""
	if d.Currency != nil {
		currency = cmp.Or(currencyCode(d.Currency.Value), d.Currency.Value)
		d.Currency.Value = currency
	}
	if d.GTIN != nil {
		if digits, ok := GTIN(d.GTIN.Value); ok {
			d.GTIN.Value = digits
		} else {
			d.GTIN = nil // as on a page, where one with a wrong check digit is none
		}
	}
	if availability != "" {
		v := cmp.Or(availabilityOf(availability), Availability(availability[strings.LastIndexByte(availability, '/')+1:]))
		d.Availability = &Found[Availability]{Value: v, Source: Stored, Confidence: storedConfidence}
	}
	if d.Price == nil {
		return true
	}
	amount := plainly(d.Price.Value)
	whole, _, _ := strings.Cut(amount, ".")
	if amount == "" || len(whole) > 15 {
		return false
	}
	d.Price.Value = exact(amount, currency)
	return true
}

// plainly writes a number of a database or of JSON as a plain amount: .99, +5 and 1.5E+2. "" = it is none.
func plainly(s string) string {
	if plainAmount(s) {
		return s
	}
	n, err := strconv.ParseFloat(s, 64)
	text := strconv.FormatFloat(n, 'f', -1, 64)
	if err != nil || strings.ContainsAny(s, "xX") || !plainAmount(text) {
		return ""
	}
	return text
}

// unfolded adds the members of the JSON documents that a row holds, where it has no column of their name.
func unfolded(values map[string]string) map[string]string {
	all := maps.Clone(values)
	for _, column := range []string{"draft", "product", "result", "data"} {
		var members map[string]any
		read := json.NewDecoder(strings.NewReader(values[column]))
		read.UseNumber() // a GTIN as it is written, and not 4.006381333931e+12
		if read.Decode(&members) != nil {
			continue
		}
		for name, v := range members {
			switch v.(type) {
			case string, json.Number:
				if all[name] == "" {
					all[name] = fmt.Sprint(v)
				}
			}
		}
	}
	return all
}

// storedTime reads a time as SQLite holds it: text, without a zone in UTC, or seconds or milliseconds since 1970.
func storedTime(text string) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && n < 1e14 {
		if n < 1e11 {
			n *= 1000
		}
		return time.UnixMilli(n).UTC(), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", time.DateTime, time.DateOnly,
		"2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	if text == "" {
		return time.Time{}, fmt.Errorf("is missing")
	}
	return time.Time{}, fmt.Errorf("is %q, expected a time such as 2026-03-04 12:00:00", text)
}

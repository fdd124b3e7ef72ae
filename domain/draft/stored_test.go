package draft_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestFromStored(t *testing.T) {
	t.Parallel()
	row := func(pairs ...string) map[string]string {
		values := map[string]string{
			"id": "6f9619ff-8b86-4011-b42d-00cf4fc964ff", "url": "https://shop.example/p/1", "title": "Mug", "price": "12.50",
			"currency": "CAD", "availability": "https://schema.org/InStock", "created_at": "2026-03-04 12:00:00",
		}
		for i := 0; i < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		return values
	}
	r, d, err := draft.FromStored(row())
	require.NoError(t, err)
	require.Equal(t, uuid.MustParse("6f9619ff-8b86-4011-b42d-00cf4fc964ff"), r.EventID)
	require.Equal(t, draft.Succeeded, r.Outcome)
	require.Equal(t, time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC), r.CrawledAt)
	require.Equal(t, &draft.Found[string]{Value: "Mug", Source: draft.Stored, Confidence: .5}, d.Draft.Name)
	require.Equal(t, draft.InStock, d.Draft.Availability.Value)
	require.Nil(t, d.Draft.Brand)

	one, _, err := draft.FromStored(row("event_id", "evt_1", "created_at", "1772625600"))
	require.NoError(t, err)
	two, _, err := draft.FromStored(row("event_id", "evt_1", "created_at", "1772625600000"))
	require.NoError(t, err)
	require.Equal(t, one, two)
	require.NotEqual(t, r.EventID, one.EventID)
	require.Equal(t, r.CrawledAt, one.CrawledAt)

	r, d, err = draft.FromStored(row("error_message", "page.goto: Timeout"))
	require.NoError(t, err)
	require.Equal(t, draft.Failed, r.Outcome)
	require.Equal(t, fault.Invalid, r.Class)
	require.Nil(t, d)

	_, d, err = draft.FromStored(row("result", `{"brand": "Acme", "price": 99, "list": [1]}`))
	require.NoError(t, err)
	require.Equal(t, "Acme", d.Draft.Brand.Value)
	require.Equal(t, "12.50", d.Draft.Price.Value, "the column counts")

	for _, json := range []string{`{"gtin": 4006381333931, "sku": 4711001, "price": 1299999, "http_status": 200}`,
		`{"ean": "400-6381333931", "sku": "4711001", "price": "1299999.00", "http_status": "200"}`} {
		_, d, err = draft.FromStored(row("result", json, "price", "", "availability", "sold out", "currency", "cad"))
		require.NoError(t, err)
		require.Equal(t, "4006381333931", d.Draft.GTIN.Value)
		require.Equal(t, "4711001", d.Draft.SKU.Value)
		require.Equal(t, "1299999", strings.TrimSuffix(d.Draft.Price.Value, ".00"))
		require.Equal(t, 200, d.Status)
		require.Equal(t, draft.OutOfStock, d.Draft.Availability.Value)
		require.Equal(t, "CAD", d.Draft.Currency.Value)
	}
	_, d, err = draft.FromStored(row("gtin", "4006381333932", "price", "19.989999999999998", "availability", "http://schema.org/Reserved2"))
	require.NoError(t, err)
	require.Nil(t, d.Draft.GTIN, "its check digit is wrong")
	require.Equal(t, "19.99", d.Draft.Price.Value)
	require.EqualValues(t, "Reserved2", d.Draft.Availability.Value)

	for _, tt := range []struct{ written, want string }{
		{`".99"`, "0.99"}, {`"5."`, "5"}, {`"+5"`, "5"}, {`1.5E+2`, "150"}, {`1e3`, "1000"}, {`"1999e-2"`, "19.99"},
	} {
		_, d, err := draft.FromStored(row("price", "", "data", `{"price": `+tt.written+`}`))
		require.NoError(t, err, tt.written)
		require.Equal(t, tt.want, d.Draft.Price.Value, tt.written)
	}

	for _, tt := range []struct{ column, value, want string }{
		{"id", "", "event_id: is missing"},
		{"url", "shop.example", "url: is no absolute http(s) address without a password"},
		{"url", "https://a:b@shop.example/", "url: is no absolute http(s) address without a password"},
		{"price", "12 $", `price: is "12 $", expected a decimal number`},
		{"price", "0x10p-2", `price: is "0x10p-2", expected a decimal number`},
		{"price", "-1", `price: is "-1", expected a decimal number`},
		{"price", "1e99", `price: is "1e99", expected a decimal number`},
		{"price", "Inf", `price: is "Inf", expected a decimal number`},
		{"price", "NaN", `price: is "NaN", expected a decimal number`},
		{"price", "1000000000000000", `price: is "1000000000000000", expected a decimal number`},
		{"sku", strings.Repeat("x", 1001), "sku: has 1001 bytes, the most is 1000"},
		{"brand", strings.Repeat("x", 3000), "brand: has 3000 bytes, the most is 1000"},
		{"created_at", "", "crawled_at: is missing"},
		{"created_at", "soon", `crawled_at: is "soon", expected a time such as 2026-03-04 12:00:00`},
		{"http_status", "1000", `http_status: is "1000", expected 100 to 599`},
	} {
		_, _, err := draft.FromStored(row(tt.column, tt.value))
		require.EqualError(t, err, tt.want)
	}
}

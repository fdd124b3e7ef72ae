package dbtest

import (
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/draft"
)

// Draft is what a product's page was read as.
func Draft(name, price string) *draft.Document {
	return &draft.Document{FinalURL: "https://shop.example/p", Draft: draft.Draft{
		Name:  &draft.Found[string]{Value: name, Source: draft.Page, Confidence: 0.5},
		Price: &draft.Found[string]{Value: price, Source: draft.Page, Confidence: 0.5},
	}}
}

// Crawled is the result of a request for a draft.
func Crawled(event uuid.UUID, at time.Time) draft.Result {
	return draft.Result{
		Request: draft.Request{EventID: event, URL: "https://Shop.example/p", OutDir: "out"}, Outcome: draft.Succeeded,
		Status: 200, CrawledAt: at,
	}
}

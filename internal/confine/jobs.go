package confine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/picture"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// jobs are what a child can do, by name.
var jobs = map[string]job{
	"extract": func(in json.RawMessage, data []byte) (any, [][]byte, error) {
		var address string
		if err := json.Unmarshal(in, &address); err != nil {
			return nil, nil, err
		}
		out, err := draft.Read(data, address)
		return out, nil, err
	},
	"search": ofSite(platform.Platform.ReadSearch),
	"advert": ofSite(platform.Platform.ReadAdvert),
	"canonical": func(_ json.RawMessage, data []byte) (any, [][]byte, error) {
		return page.Canonical(data), nil, nil
	},
	"picture": func(_ json.RawMessage, data []byte) (any, [][]byte, error) {
		out, err := picture.Read(data)
		blobs := [][]byte{out.Thumbnail, out.Data}
		if bytes.Equal(out.Data, data) { // nothing was taken off: it need not travel back
			blobs = blobs[:1]
		}
		out.Data, out.Thumbnail = nil, nil
		return out, blobs, err
	},
}

// platformPage is a page of a platform without its body.
type platformPage struct {
	Platform string
	Page     web.Page
}

// ofSite is a method of the platform whose page it is.
func ofSite[T any](read func(platform.Platform, web.Page) (T, error)) job {
	return func(in json.RawMessage, body []byte) (any, [][]byte, error) {
		var said platformPage
		if err := json.Unmarshal(in, &said); err != nil {
			return nil, nil, err
		}
		site, ok := platform.ByName(said.Platform)
		if !ok {
			return nil, nil, fault.Newf(fault.Invalid, "platform: no reader for %q", said.Platform)
		}
		said.Page.Body = body
		out, err := read(site, said.Page)
		return out, nil, err
	}
}

// Extract is draft.Read in a child.
func (p *Pool) Extract(ctx context.Context, page []byte, address string) (out draft.Extraction, err error) {
	_, err = p.do(ctx, "extract", address, page, &out)
	return out, err
}

// ReadSearch is the method of the platform of that name, in a child.
func (p *Pool) ReadSearch(ctx context.Context, platform string, page web.Page) (out scrape.Results, err error) {
	body := page.Body
	page.Body = nil
	_, err = p.do(ctx, "search", platformPage{platform, page}, body, &out)
	return out, err
}

// ReadAdvert is the method of the platform of that name, in a child.
func (p *Pool) ReadAdvert(ctx context.Context, platform string, page web.Page) (out scrape.Advert, err error) {
	body := page.Body
	page.Body = nil
	_, err = p.do(ctx, "advert", platformPage{platform, page}, body, &out)
	return out, err
}

// Canonical is page.Canonical in a child.
func (p *Pool) Canonical(ctx context.Context, page []byte) (address string, err error) {
	_, err = p.do(ctx, "canonical", nil, page, &address)
	return address, err
}

// Picture is picture.Read in a child.
func (p *Pool) Picture(ctx context.Context, data []byte) (out web.Photo, err error) {
	blobs, err := p.do(ctx, "picture", nil, data, &out)
	if err != nil {
		return web.Photo{}, err
	}
	if len(blobs) == 0 {
		return web.Photo{}, errors.New("read picture: there is no thumbnail")
	}
	if out.Data, out.Thumbnail = data, blobs[0]; len(blobs) > 1 {
		out.Data = blobs[1]
	}
	return out, nil
}

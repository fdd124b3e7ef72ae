package fetch

import (
	"context"
	"fmt"

	"github.com/mtlrent/conveyor/domain/web"
)

// Photo downloads a picture and has it checked by Options.Picture: at most MaxBytes after at most 5
// redirects. It may be repeated.
//
// The faults: Gone for 404, 410 and a host that does not exist; Throttled for 429 and 503, with the wait asked for, at
// most 5 minutes; Blocked for 401, 403 and 451; Transient for other 5xx, timeouts, cut connections and name servers
// that do not answer; Invalid for the rest: an address that is not public http(s), too many redirects or a loop, too
// large; and those of Options.Picture. Errors hold no query string and no credentials.
func (c *Client) Photo(ctx context.Context, address string) (web.Photo, error) {
	data, err := c.get(ctx, address, "image/webp,image/jpeg,image/png,image/gif;q=0.9,*/*;q=0.1")
	if err != nil {
		return web.Photo{}, err
	}
	photo, err := c.o.Picture(ctx, data)
	if err != nil {
		u, _ := parse(nil, address)
		return web.Photo{}, fmt.Errorf("fetch %s: %w", web.ShowURL(u), err)
	}
	return photo, nil
}

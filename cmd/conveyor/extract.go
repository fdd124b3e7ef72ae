package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/internal/confine"
)

type extractCmd struct {
	File string `arg:"" help:"Saved page, HTML, may be compressed by gzip; - is standard input."`
	URL  string `name:"url" help:"Original URL of the page: resolves links and gives the country. The default is the canonical URL in the page." placeholder:"URL"`
}

// Run prints the draft of a saved page as JSON. It needs none of the services. The page is read in this process, once
// it has taken its own powers away.
func (c *extractCmd) Run(ctx context.Context) error {
	return c.run(ctx, os.Stdin, os.Stdout, func() (productReader, error) { return confine.Here(confine.Options{}) })
}

// A productReader reads pages of strangers within bounds.
type productReader interface {
	canonicalReader
	Extract(ctx context.Context, page []byte, address string) (draft.Extraction, error)
}

// run asks for the reader once it has the page.
func (c *extractCmd) run(ctx context.Context, in io.Reader, out io.Writer, bound func() (productReader, error)) error {
	page, err := savedPage(ctx, c.File, in)
	if err != nil {
		return interrupted(ctx, err)
	}
	readers, err := bound()
	if err != nil {
		return err
	}
	const unknown = "http://unknown.invalid"
	address := c.URL
	if address == "" {
		if address, err = ownAddress(ctx, readers, page, unknown+"/"); err != nil {
			return interrupted(ctx, err)
		}
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		return cli.Usage("read --url: %q is not an absolute URL", address)
	}
	found, err := readers.Extract(ctx, page, address)
	if err != nil {
		return interrupted(ctx, fmt.Errorf("read page: %w", err))
	}
	d := found.Draft
	if strings.HasPrefix(address, unknown) { // relative links stay relative
		address = ""
		for i, image := range d.Images {
			d.Images[i].Value = strings.TrimPrefix(image.Value, unknown)
		}
	}
	return cli.PrintJSON(out, draft.Document{URL: address, FinalURL: address, Draft: d})
}

package main

import (
	"context"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// photos adapts a fetch.Client to activities.ImageSource.
type photos struct{ *fetch.Client }

func (p photos) Photo(ctx context.Context, address string) (listing.Photo, error) {
	img, err := p.Image(ctx, address)
	if err != nil {
		return listing.Photo{}, err
	}
	return listing.Photo{
		Data: img.Bytes, ContentType: img.Type, Ext: img.Ext, Width: img.Width, Height: img.Height,
		Thumbnail: img.Thumbnail,
	}, nil
}

// pictures adapts a blob.Store to activities.ImageBlobs.
type pictures struct{ *blob.Store }

func (p pictures) PutThumbnail(ctx context.Context, key string, data []byte) (string, error) {
	return blob.ThumbnailKey(key), p.Store.PutThumbnail(ctx, key, data)
}

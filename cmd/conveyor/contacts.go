package main

import (
	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
)

// contacts is what tenants see of their uploads and contacts.
func (h *house) contacts() system {
	c := h.config.Outreach
	return system{parts: []api.Part{
		api.Uploads{
			Store: dboutreach.NewUploads(h.pool), Blobs: h.blobs, Launch: h.launch,
			Limits: api.UploadLimits{
				Bytes: c.UploadBytes, Share: c.UploadShare, All: c.UploadChunks, Low: c.UploadLow, Reserve: c.UploadReserve,
			},
			Free: h.blobs.Free,
		},
		api.Contacts{Store: dboutreach.NewContacts(h.pool, h.optOuts)},
	}}
}

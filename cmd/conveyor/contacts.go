package main

import (
	"github.com/mtlrent/conveyor/api"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
)

// contacts is what tenants see of their uploads and contacts.
func (h *house) contacts() system {
	c := h.config.Outreach
	return system{parts: []api.Part{
		apioutreach.Uploads{
			Store: dboutreach.NewUploads(h.pool), Blobs: h.blobs, Launch: h.launch,
			Limits: apioutreach.UploadLimits{
				Bytes: c.UploadBytes, Share: c.UploadShare, All: c.UploadChunks, Low: c.UploadLow, Reserve: c.UploadReserve,
			},
			Free: h.blobs.Free,
		},
		apioutreach.Contacts{Store: dboutreach.NewContacts(h.pool, h.optOuts)},
	}}
}

package listings

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/blob"
)

// Images serves /images/{key}. It is a gin route, for http.ServeContent does ranges and conditions; huma knows it for
// the document.
type Images struct {
	Blobs *blob.Store

	door *api.Door
}

// Register implements api.Part.
func (h Images) Register(d *api.Door) {
	h.door = d
	d.API.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "get-image", Method: http.MethodGet, Path: "/images/{key}", Tags: []string{"listings"},
		Summary: "Get a picture or its thumbnail",
		Description: "The key, slashes included, is that of a listing's image. Pictures never change: they are named by " +
			"their SHA-256. No credentials are required.",
		Metadata: map[string]any{api.TimeoutKey: api.PictureTimeout},
		Parameters: []*huma.Param{{
			Name: "key", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString},
			Example: "thumbs/ab/cd/abcd….jpg",
		}},
		Responses: map[string]*huma.Response{
			"200": {Description: "The picture", Content: map[string]*huma.MediaType{"image/*": {}}},
			"206": {Description: "A part of the picture, which the header Range asked for"},
			"304": {Description: "Not modified"},
			"404": {Description: "There is no such picture", Content: problems},
			"416": {Description: "The picture has no such part"},
			"429": {Description: "Too many requests from the address", Content: problems},
			"503": {Description: "The blob store is away", Content: problems},
		},
	})
	d.Router.GET("/images/*key", h.get)
}

func (h Images) get(c *gin.Context) {
	key := strings.TrimPrefix(c.Param("key"), "/")
	if !strings.HasPrefix(key, "images/") && !strings.HasPrefix(key, "thumbs/") {
		key = "images/" + key
	}
	object, err := h.Blobs.Open(c.Request.Context(), key)
	switch fault.ClassOf(err) {
	case fault.Invalid, fault.Gone: // the blob store's own text names its folders
		err = fault.Newf(fault.Gone, "there is no picture %.120q", key)
	}
	if err != nil {
		api.Answer(c, api.Problem(c.Request.Context(), h.door.Log, err))
		return
	}
	defer object.Close()
	c.Header("Cross-Origin-Resource-Policy", "cross-origin") // a site that shows the listing may show its pictures
	c.Header("Cache-Control", "public, max-age=31536000, immutable")
	api.Send(c, object, object)
}

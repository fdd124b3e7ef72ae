package drafttest

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// A Sample is a page of the product extraction benchmark and its right values.
type Sample struct {
	ID, URL string
	HTML    []byte
	Truth   Truth
}

// Samples reads the pages of the product extraction benchmark from its folder: ground-truth.json and
// html/<id>.html.gz. They are ordered by their IDs. Where there is no ground-truth.json, the error is fs.ErrNotExist.
func Samples(folder fs.FS) ([]Sample, error) {
	raw, err := fs.ReadFile(folder, "ground-truth.json")
	if err != nil {
		return nil, err
	}
	var truths map[string]map[string]any
	if err := json.Unmarshal(raw, &truths); err != nil {
		return nil, fmt.Errorf("read ground-truth.json: %w", err)
	}
	var out []Sample
	for id, fields := range truths {
		s := Sample{ID: id, Truth: Truth{}}
		for name, v := range fields {
			switch v := v.(type) {
			case string:
				s.URL = v
			case []any:
				for _, x := range v {
					s.Truth[name] = append(s.Truth[name], fmt.Sprint(x))
				}
			}
		}
		if s.HTML, err = gunzip(folder, "html/"+id+".html.gz"); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Sample) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func gunzip(folder fs.FS, name string) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return io.ReadAll(z)
}

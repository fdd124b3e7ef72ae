package api

import (
	"context"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/licences"
)

// Licences serves /licences.
type Licences struct{}

// Register implements Part.
func (h Licences) Register(d *Door) {
	Serve(d, Needs(access.Read, Op("operations", "list-licences", "GET /licences",
		"List what the program contains of others",
		"Go modules of the binary, and npm packages and fonts of the console, with their licences, as conveyor version "+
			"--licences prints them.")), h.list)
}

// LicenceList is the answer of GET /licences.
type LicenceList struct {
	Items []LicensedPart `json:"items" doc:"by kind and name"`
	Texts []string       `json:"texts" doc:"that the parts share"`
}

// A LicensedPart is a module or package.
type LicensedPart struct {
	Kind    string `json:"kind" enum:"go,npm,font"`
	Name    string `json:"name" example:"golang.org/x/net"`
	Version string `json:"version,omitempty" doc:"absent: that of the toolchain"`
	Licence string `json:"licence" doc:"SPDX expression, or none stated" example:"BSD-3-Clause"`
	Text    *int   `json:"text,omitempty" doc:"index in texts; absent: the package comes without one"`
}

func (h Licences) list(context.Context, *struct{}) (*Body[LicenceList], error) {
	l, err := licences.Unpack(licences.Packed)
	if err != nil {
		return nil, err
	}
	show := func(p licences.Part) LicensedPart { return LicensedPart(p) }
	return BodyOf(LicenceList{Each(l.Parts, show), l.Texts}), nil
}

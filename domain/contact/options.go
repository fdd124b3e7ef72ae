package contact

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nyaruka/phonenumbers"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Options say how a file is to be read. What is left out is found out (Sniff).
type Options struct {
	Encoding  string `json:"encoding,omitempty" doc:"Encoding of the text: utf-8, utf-16le, utf-16be, windows-1252, or another label of the WHATWG Encoding Standard"`
	Delimiter string `json:"delimiter,omitempty" doc:"Character between cells: one of , ; | : ^ ~ or a tab (also written tab)"`
	Quote     string `json:"quote,omitempty" doc:"Character around cells: \" or ', or none"`
	Escape    string `json:"escape,omitempty" doc:"Character before a quote that is text within quotes: \\, or none where it is doubled"`
	Skip      *int   `json:"skip,omitempty" minimum:"0" maximum:"1000" doc:"Physical lines before the header"`
	Header    *bool  `json:"header,omitempty" doc:"Whether the first record has the names of the columns"`
	Sheet     string `json:"sheet,omitempty" doc:"Name of the worksheet of an XLSX file; the first visible one by default"`
	Region    string `json:"region,omitempty" pattern:"^[A-Z]{2}$" doc:"Region of phone numbers without a country code, as ISO 3166-1 alpha-2: CA"`
	// Mapping says which field a column is: by its header, or by its number from 1 as #4. The fields are phone, email,
	// name, given_name, family_name, locale, tags, fields.<name>, and - for a column that is left out.
	Mapping map[string]string `json:"mapping,omitempty" doc:"Field of a column, by its header or by its number as #4: phone, email, name, given_name, family_name, locale, tags, fields.<name>, or - to leave it out"`
}

// Check refuses, as fault.Invalid, what fits no file at all.
func (o Options) Check() error {
	if o.Region != "" && !KnownRegion(o.Region) {
		return fault.Newf(fault.Invalid, "region %.20q is not known; use two capital letters such as CA", o.Region)
	}
	if o.Encoding != "" {
		if _, err := encodingOf(o.encoding()); err != nil {
			return err
		}
	}
	if d := o.delimiter(); len(d) > 1 || !strings.Contains(rareDelimiters, d) {
		return fault.Newf(fault.Invalid, "delimiter %.20q is none; use , ; | : ^ ~ or tab", o.Delimiter)
	}
	if !slices.Contains([]string{"", `"`, "'", "none"}, o.Quote) {
		return fault.Newf(fault.Invalid, `quote %.20q is not known; use ", ' or none`, o.Quote)
	}
	if !slices.Contains([]string{"", `\`, "none"}, o.Escape) {
		return fault.Newf(fault.Invalid, `escape %.20q is not known; use \ or none`, o.Escape)
	}
	for _, field := range o.Mapping {
		custom, isCustom := strings.CutPrefix(field, FieldCustom)
		if isCustom && slug(custom) != custom || !isCustom && !slices.Contains(fields, field) {
			return fault.Newf(fault.Invalid, "mapping: unknown field %.60q; use %s or %s<name>, a name of letters, digits and _",
				field, strings.Join(fields, ", "), FieldCustom)
		}
	}
	return nil
}

// In are the options of a file of a tenant in a region: numbers without a country code are of it, unless the options
// say otherwise. They are settled where they are given, so that a file is imported as its preview showed it.
func (o Options) In(region string) Options {
	o.Region = cmp.Or(o.Region, region)
	return o
}

// KnownRegion says that telephone numbers of a region can be read: it is a code of ISO 3166-1, such as CA.
func KnownRegion(code string) bool { return phonenumbers.GetSupportedRegions()[code] }

// encoding is the label of the encoding.
func (o Options) encoding() string {
	if given := strings.ToLower(o.Encoding); given != "utf8" {
		return given
	}
	return UTF8
}

// delimiter is the character between cells.
func (o Options) delimiter() string {
	if strings.EqualFold(o.Delimiter, "tab") || o.Delimiter == `\t` {
		return "\t"
	}
	return o.Delimiter
}

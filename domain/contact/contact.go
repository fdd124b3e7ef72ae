// Package contact reads files of people: what a file is (Sniff), where its records begin (Split), which column is what
// (Mapping), and each record as a contact or as the reasons why it is none (Parse). It also writes the refused records
// back as a file (ErrorsWriter) and checks the filters of segments (Filter).
//
// Everything reads streams within fixed memory and depends on its arguments only.
package contact

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// Contact is a person as a row of a file, or a request, gives them. All text is UTF-8 without control characters but
// line breaks (\n), trimmed.
type Contact struct {
	Key        string            `json:"key"`               // Key(Phone, Email): what makes two rows the same person
	Phone      string            `json:"phone,omitempty"`   // E.164, as given: "+5215512345678" stays that
	Country    string            `json:"country,omitempty"` // ISO 3166-1 alpha-2, of the phone; "" of numbers without one
	Email      string            `json:"email,omitempty"`   // the domain in lower case and ASCII
	Name       string            `json:"name,omitempty"`    // the whole name; made of the parts where the file has none
	GivenName  string            `json:"given_name,omitempty"`
	FamilyName string            `json:"family_name,omitempty"`
	Locale     string            `json:"locale,omitempty"` // BCP 47: "fr", "fr-CA"
	Tags       []string          `json:"tags,omitempty"`   // without duplicates, in the order of the file
	Fields     map[string]string `json:"fields,omitempty"` // custom fields that are not empty
}

// Row is a record of a file: a Contact, or Problems.
type Row struct {
	Number   int64     `json:"number"` // of the record in the file, from 1, without the header and blank lines
	Line     int64     `json:"line"`   // physical line that it begins on, from 1; of a worksheet the number of its row
	Contact  Contact   `json:"contact"`
	Problems []Problem `json:"problems,omitempty"` // one or more make the row invalid
	Record   []string  `json:"record,omitempty"`   // the cells as they were in the file, of a row with problems; of all with Plan.Records
	Keys     []string  `json:"keys,omitempty"`     // of a row with problems: the Key of its phone and that of its address, where they can be read
}

// Persons are the keys by which the row, refused or not, is found when a person is to be forgotten.
func (r Row) Persons() []string {
	if !r.Valid() {
		return r.Keys
	}
	return r.Contact.Persons()
}

// Persons are Key(Phone, "") and Key("", Email), those that there are.
func (c Contact) Persons() (keys []string) {
	for _, key := range []string{Key(c.Phone, ""), Key("", c.Email)} {
		if key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// Valid says that the row is a contact.
func (r Row) Valid() bool { return len(r.Problems) == 0 }

// Problem is one reason why a row is refused. Its Message quotes the beginning of the cell, so it is a person's data
// like the cell itself.
type Problem struct {
	Field   string `json:"field,omitempty"` // the field, or the header of the column; "" = the whole record
	Code    string `json:"code"`            // one of the Code constants; stable
	Message string `json:"message"`         // what is wrong and what to do, in a sentence or two
}

// The codes of problems.
const (
	CodeMissing     = "missing"           // neither a phone nor an e-mail address
	CodePhone       = "phone_invalid"     // no number that can exist
	CodeCountry     = "phone_no_country"  // a national number, and no region to read it in
	CodeScientific  = "phone_scientific"  // 5.14555E+09: a spreadsheet has dropped digits
	CodeLetters     = "phone_letters"     // 1-800-FLOWERS
	CodeExtension   = "phone_extension"   // 514 555-0123 ext. 4
	CodeSeveral     = "phone_several"     // more than one number in the cell
	CodeEmail       = "email_invalid"     // no address that mail can be sent to
	CodeLocale      = "locale_unknown"    // no language
	CodeTags        = "tags_too_many"     // more than MaxTags, or one longer than MaxTag
	CodeFormula     = "formula_error"     // #N/A, #REF! and the like
	CodeNUL         = "nul_byte"          // U+0000 in a cell
	CodeControl     = "control_character" // another control character in a cell
	CodeEncoding    = "encoding"          // bytes that are not text
	CodeTooLong     = "too_long"          // a cell beyond its bound
	CodeColumns     = "too_many_columns"  // cells beyond the header
	CodeQuote       = "quote"             // a quote that is not closed, or not doubled
	CodeRecordBytes = "record_too_long"   // a record beyond MaxRecord
)

// Bounds of what is read.
const (
	MaxRecord  = 1 << 20 // bytes of a record, the line breaks in its cells included
	MaxColumns = 1000
	MaxName    = 200  // characters of a name
	MaxField   = 4000 // characters of a custom field
	MaxTag     = 64   // characters of a tag
	MaxTags    = 50   // of a contact
)

// Key is what two notations of one person have in common: the phone for matching, or "mailto:" and the address in lower
// case where there is no phone. The phone, E.164, is taken as valid. It is "" for neither.
//
// Brazil's mobile numbers get their ninth digit where it is missing (those of landlines, which begin with 2 to 5, have
// none); Mexico's and Argentina's lose the 1 and the 9 that only mobiles once had after the country code.
func Key(phone, email string) string {
	switch {
	case phone != "":
		return canonical(phone)
	case email != "":
		return "mailto:" + strings.ToLower(email)
	}
	return ""
}

// canonical is the phone in the notation that numbers are compared in.
func canonical(phone string) string {
	switch {
	case strings.HasPrefix(phone, "+55") && len(phone) == 13 && phone[5] >= '6':
		return phone[:5] + "9" + phone[5:]
	case strings.HasPrefix(phone, "+521") && len(phone) == 14:
		return "+52" + phone[4:]
	case strings.HasPrefix(phone, "+549") && len(phone) == 14:
		return "+54" + phone[4:]
	}
	return phone
}

// Digest is the key without the person: the first 16 bytes of the SHA-256 of the tenant, NUL and the key. It still
// finds an opt-out when the contact is gone.
func Digest(tenant, key string) [16]byte {
	sum := sha256.Sum256([]byte(tenant + "\x00" + key))
	return [16]byte(sum[:16])
}

// OptOutPurpose is what the key is sealed for that opt-outs are hashed by.
const OptOutPurpose = "opt-outs"

// Pads are a key in the two forms in which HMAC-SHA256 uses it. The zero Pads are no key.
type Pads struct{ Inner, Outer []byte }

// NewPads are those of a key of up to 64 bytes.
func NewPads(key []byte) Pads {
	p := Pads{slices.Repeat([]byte{0x36}, sha256.BlockSize), slices.Repeat([]byte{0x5c}, sha256.BlockSize)}
	for i, b := range key {
		p.Inner[i] ^= b
		p.Outer[i] ^= b
	}
	return p
}

// Keyed is the HMAC of a Digest, which tells nothing without the key; nil where there is none.
func (p Pads) Keyed(digest []byte) []byte {
	if p.Outer == nil {
		return nil
	}
	inner := sha256.Sum256(slices.Concat(p.Inner, digest))
	sum := sha256.Sum256(slices.Concat(p.Outer, inner[:]))
	return sum[:]
}

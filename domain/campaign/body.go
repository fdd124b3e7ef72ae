package campaign

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// The types of messages.
const (
	TypeTemplate = "template"
	TypeText     = "text"
	TypeImage    = "image"
	TypeVideo    = "video"
	TypeAudio    = "audio"
	TypeDocument = "document"
	TypeSticker  = "sticker"
)

// A Body is the content of a message as the Cloud API takes it: the member "type" and the one that it names. Outside of
// the 24 hours after a message of the recipient, Meta delivers templates only.
//
// The body of a campaign is a template in another sense too: each of its texts, links and file names may have
// placeholders for the fields of a contact, {{given_name}} or, with a fallback, {{given_name|there}}. Render fills them
// in.
type Body struct {
	Type     string    `json:"type"`
	Template *Template `json:"template,omitempty"`
	Text     *Text     `json:"text,omitempty"`
	Image    *Media    `json:"image,omitempty"`
	Video    *Media    `json:"video,omitempty"`
	Audio    *Media    `json:"audio,omitempty"`
	Document *Media    `json:"document,omitempty"`
	Sticker  *Media    `json:"sticker,omitempty"`
}

// Text is a message of text.
type Text struct {
	Body       string `json:"body"`                  // at most 4096 characters
	PreviewURL bool   `json:"preview_url,omitempty"` // show the page of the first link
}

// Media is a file: one that was uploaded to Meta before, or a link from which Meta takes it.
type Media struct {
	ID       string `json:"id,omitempty"`
	Link     string `json:"link,omitempty"`     // https
	Caption  string `json:"caption,omitempty"`  // at most 1024 characters; none with audio and stickers
	Filename string `json:"filename,omitempty"` // of a document
}

// Template is a message template that Meta has approved, with its parameters.
type Template struct {
	Name       string      `json:"name"`
	Language   Language    `json:"language"`
	Components []Component `json:"components,omitempty"`
}

// Language is the language of a template: its code is one like fr or en_US.
type Language struct {
	Code string `json:"code"`
}

// A Component holds the parameters of a part of a template.
type Component struct {
	Type       string      `json:"type"`               // header, body, button
	SubType    string      `json:"sub_type,omitempty"` // of a button: quick_reply, url, copy_code …
	Index      string      `json:"index,omitempty"`    // of a button: "0" is the first
	Parameters []Parameter `json:"parameters"`
}

// A Parameter takes the place of a variable of a template.
type Parameter struct {
	Type       string `json:"type"`                     // text, image, video, document, payload, coupon_code
	Name       string `json:"parameter_name,omitempty"` // where the template's variables have names
	Text       string `json:"text,omitempty"`           // at most 1024 characters, on one line
	Payload    string `json:"payload,omitempty"`
	CouponCode string `json:"coupon_code,omitempty"`
	Image      *Media `json:"image,omitempty"`
	Video      *Media `json:"video,omitempty"`
	Document   *Media `json:"document,omitempty"`
}

// The limits of the Cloud API, in characters.
const (
	maxText      = 4096
	maxCaption   = 1024
	maxParameter = 1024
	maxName      = 512
	maxLink      = 2048
	maxField     = 64 // of a placeholder; this one is ours
)

var (
	placeholder  = regexp.MustCompile(`\{\{([^{}|]*)(?:\|([^{}]*))?\}\}`)
	templateName = regexp.MustCompile(`^[a-z0-9_]+$`) // with {1,512} it would be 512 states, made with each start
	languageCode = regexp.MustCompile(`^[a-z]{2,3}(_[A-Za-z]{2,4})?$`)
	buttonIndex  = regexp.MustCompile(`^[0-9]$`)
)

// A slot is a text of a body that may have placeholders.
type slot struct {
	field string // dotted path in the JSON
	text  *string
	most  int  // characters
	line  bool // it takes one line, and is not empty: Meta refuses other parameters
	link  bool // it is an address
}

// slots are the texts of b.
func (b *Body) slots() (out []slot) {
	media := func(field string, m *Media) {
		if m != nil {
			out = append(out, slot{field: field + ".id", text: &m.ID, most: maxName},
				slot{field: field + ".link", text: &m.Link, most: maxLink, link: true},
				slot{field: field + ".caption", text: &m.Caption, most: maxCaption},
				slot{field: field + ".filename", text: &m.Filename, most: maxName})
		}
	}
	if b.Text != nil {
		out = append(out, slot{field: "text.body", text: &b.Text.Body, most: maxText})
	}
	for _, m := range b.media() {
		media(m.name, *m.at)
	}
	if b.Template == nil {
		return out
	}
	for i := range b.Template.Components {
		for j := range b.Template.Components[i].Parameters {
			p := &b.Template.Components[i].Parameters[j]
			field := fmt.Sprintf("template.components[%d].parameters[%d]", i, j)
			switch p.Type {
			case "text":
				out = append(out, slot{field: field + ".text", text: &p.Text, most: maxParameter, line: true})
			case "payload":
				out = append(out, slot{field: field + ".payload", text: &p.Payload, most: maxParameter, line: true})
			case "coupon_code":
				out = append(out, slot{field: field + ".coupon_code", text: &p.CouponCode, most: maxParameter, line: true})
			}
			media(field+".image", p.Image)
			media(field+".video", p.Video)
			media(field+".document", p.Document)
		}
	}
	return out
}

type namedMedia struct {
	name string
	at   **Media
}

func (b *Body) media() []namedMedia {
	return []namedMedia{
		{TypeImage, &b.Image}, {TypeVideo, &b.Video}, {TypeAudio, &b.Audio}, {TypeDocument, &b.Document},
		{TypeSticker, &b.Sticker},
	}
}

// Check says what is wrong with the body of a message, or with that of a campaign, where placeholders are true. The
// error is fault.Invalid with contract.Errors, all of them.
func (b *Body) Check(placeholders bool) error {
	var e contract.Errors
	bad := func(field, format string, args ...any) {
		e = append(e, contract.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
	b.checkType(bad)
	if t := b.Template; t != nil {
		t.check(bad)
	}
	for _, m := range b.media() {
		if *m.at != nil {
			(*m.at).check(m.name, m.name, bad)
		}
	}
	if b.Text != nil && strings.TrimSpace(b.Text.Body) == "" {
		bad("text.body", "is empty")
	}
	for _, s := range b.slots() {
		if placeholders {
			checkPlaceholders(s, bad)
		}
		s.check(placeholders, bad)
	}
	if len(e) > 0 {
		return fault.Newf(fault.Invalid, "%w", e)
	}
	return nil
}

type complain func(field, format string, args ...any)

// checkType holds the type to the one member that it names.
func (b *Body) checkType(bad complain) {
	has := map[string]bool{TypeTemplate: b.Template != nil, TypeText: b.Text != nil}
	for _, m := range b.media() {
		has[m.name] = *m.at != nil
	}
	if _, known := has[b.Type]; !known {
		bad("type", "is %.40q, expected template, text, image, video, audio, document or sticker", b.Type)
		return
	}
	for _, name := range []string{
		TypeTemplate, TypeText, TypeImage, TypeVideo, TypeAudio, TypeDocument, TypeSticker,
	} {
		switch {
		case name == b.Type && !has[name]:
			bad(name, "is missing: the type is %q", b.Type)
		case name != b.Type && has[name]:
			bad(name, "is not part of a message of type %q", b.Type)
		}
	}
}

func (t *Template) check(bad complain) {
	if len(t.Name) > 512 || !templateName.MatchString(t.Name) {
		bad("template.name", "is %.80q, expected lower-case letters, digits and _", t.Name)
	}
	if !languageCode.MatchString(t.Language.Code) {
		bad("template.language.code", "is %.20q, expected a code such as fr or en_US", t.Language.Code)
	}
	for i, c := range t.Components {
		field := fmt.Sprintf("template.components[%d]", i)
		switch {
		case !slices.Contains([]string{"header", "body", "button"}, c.Type):
			bad(field+".type", "is %.40q, expected header, body or button", c.Type)
		case c.Type == "button" && c.SubType == "":
			bad(field+".sub_type", "is missing: a button has one, such as url or quick_reply")
		case c.Type == "button" && !buttonIndex.MatchString(c.Index):
			bad(field+".index", "is %.20q, expected the number of the button, from \"0\"", c.Index)
		}
		if c.Parameters == nil {
			bad(field+".parameters", "are missing")
		}
		for j, p := range c.Parameters {
			p.check(fmt.Sprintf("%s.parameters[%d]", field, j), bad)
		}
	}
}

func (p *Parameter) check(field string, bad complain) {
	var file *Media
	switch p.Type {
	case "text", "payload", "coupon_code": // slots look at their values
		return
	case TypeImage:
		file = p.Image
	case TypeVideo:
		file = p.Video
	case TypeDocument:
		file = p.Document
	default:
		bad(field+".type", "is %.40q, expected text, image, video, document, payload or coupon_code", p.Type)
		return
	}
	if file == nil {
		bad(field+"."+p.Type, "is missing: the type is %q", p.Type)
		return
	}
	file.check(field+"."+p.Type, p.Type, bad)
}

// check looks at a file of a kind. Meta refuses a message with a member that its kind does not have.
func (m *Media) check(field, kind string, bad complain) {
	if m.Caption != "" && (kind == TypeAudio || kind == TypeSticker) {
		bad(field+".caption", "is not part of %s: it has no caption", kind)
	}
	if m.Filename != "" && kind != TypeDocument {
		bad(field+".filename", "is not part of %s: only a document has a file name", kind)
	}
	switch {
	case m.ID == "" && m.Link == "":
		bad(field, "has neither id nor link")
	case m.ID != "" && m.Link != "":
		bad(field, "has both id and link, expected one of them")
	case m.Link != "" && !secure(m.Link) && !strings.HasPrefix(m.Link, "{{"):
		bad(field+".link", "does not begin with https://")
	}
}

// secure reports whether a link is one of https, whose name has any case.
func secure(link string) bool {
	scheme, _, ok := strings.Cut(link, "://")
	return ok && strings.EqualFold(scheme, "https")
}

// escaped is a link without what no link may have behind its host, such as the spaces and accents of a field: they are
// percent-encoded. What is encoded stays so.
func escaped(link string) string {
	scheme, rest, ok := strings.Cut(link, "://")
	if !ok {
		return encoded(link, "")
	}
	host := len(scheme) + len("://") + len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host += i - len(rest)
	}
	return link[:host] + encoded(link[host:], "")
}

// encoded has what no link may have, and some more characters, percent-encoded.
func encoded(part, more string) string {
	var out strings.Builder
	for i := range len(part) {
		c := part[i]
		stray := c == '%' && (len(part) < i+3 || strings.Trim(part[i+1:i+3], "0123456789abcdefABCDEF") != "")
		if c > ' ' && c < 0x7f && !strings.ContainsRune("\"<>\\^`{|}"+more, rune(c)) && !stray {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// within says that what follows the beginning of a link is a part of its path, query or fragment, and no address.
func within(beginning string) bool {
	_, rest, ok := strings.Cut(beginning, "://")
	return beginning != "" && (!ok || strings.ContainsAny(rest, "/?#"))
}

var (
	ownQuery  = regexp.MustCompile(`\?[^?&=\s]+=`)
	parameter = regexp.MustCompile(`^[^?&=\s]+=`)
)

// queries says that a field brings the query of a link that begins so, or parameters of it, itself.
func queries(beginning, value string) bool {
	if strings.HasSuffix(beginning, "?") || strings.HasSuffix(beginning, "&") {
		return parameter.MatchString(value)
	}
	return !strings.Contains(beginning, "?") && ownQuery.MatchString(value)
}

// unseen says that a character cannot be seen.
func unseen(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		r == '\u2800' // Braille without a dot
}

// check holds a text to its limits. A text with placeholders may come to be shorter or longer.
func (s slot) check(placeholders bool, bad complain) {
	text := *s.text
	switch n := utf8.RuneCountInString(text); {
	case placeholders && placeholder.MatchString(text):
	case n > s.most:
		bad(s.field, "has %d characters, the most is %d", n, s.most)
	case s.line && strings.TrimSpace(text) == "":
		bad(s.field, "is empty")
	case s.line && (strings.ContainsAny(text, "\n\r\t") || strings.Contains(text, "     ")):
		bad(s.field, "has a line break, a tab or more than four spaces in a row, which Meta refuses in a parameter")
	}
	if strings.ContainsRune(text, 0) {
		bad(s.field, "contains a NUL character")
	}
}

func checkPlaceholders(s slot, bad complain) {
	rest := placeholder.ReplaceAllStringFunc(*s.text, func(p string) string {
		switch name, _, _ := readPlaceholder(p); {
		case name == "":
			bad(s.field, "has a placeholder without a field: %s", p)
		case utf8.RuneCountInString(name) > maxField:
			bad(s.field, "has a placeholder of more than %d characters", maxField)
		}
		return ""
	})
	if strings.Contains(rest, "{{") || strings.Contains(rest, "}}") {
		bad(s.field, "has {{ or }} outside of a placeholder; one is {{field}} or {{field|fallback}}")
	}
}

// readPlaceholder takes {{name|fallback}} apart.
func readPlaceholder(p string) (name, fallback string, has bool) {
	name, fallback, has = strings.Cut(strings.TrimSuffix(strings.TrimPrefix(p, "{{"), "}}"), "|")
	return strings.TrimSpace(name), strings.TrimSpace(fallback), has
}

// Fields are the fields of contacts that the placeholders of b name, each once, in order.
func (b *Body) Fields() (names []string) {
	for _, s := range b.slots() {
		for _, p := range placeholder.FindAllString(*s.text, -1) {
			if name, _, _ := readPlaceholder(p); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// A Refusal says why a contact gets no message.
type Refusal struct {
	Class  Class  // ClassMissingField, ClassBadContent
	Reason string // names the field, and says what to do; holds no personal data
}

func (r *Refusal) Error() string { return r.Reason }

// Render fills the placeholders of b with the fields of a contact, "" being one that it does not have, and returns the
// message that is stored and sent. A field of which nothing can be seen is one that the contact does not have. In the
// parameters of a template each run of white space becomes one space; in links, what none may have is percent-encoded,
// and in fields that are parts of them what would end the part, but for slashes, as a field may be a path, and for a
// query that a field brings itself. The error is a *Refusal.
func (b *Body) Render(field func(name string) string) (Body, error) {
	out := b.clone()
	var missing []string
	for _, s := range out.slots() {
		if !strings.Contains(*s.text, "{{") {
			continue
		}
		var text strings.Builder
		fill := func(p string, part bool) string {
			name, fallback, has := readPlaceholder(p)
			value := strings.TrimSpace(field(name))
			if strings.TrimFunc(value, unseen) == "" {
				value = ""
			}
			switch {
			case value == "" && !has:
				if !slices.Contains(missing, name) {
					missing = append(missing, name)
				}
			case value == "":
				value = fallback
			case part && queries(text.String(), value):
				value = encoded(value, "#")
			case part:
				value = encoded(value, "?#&+")
			}
			return value
		}
		end := 0
		for _, at := range placeholder.FindAllStringIndex(*s.text, -1) {
			text.WriteString((*s.text)[end:at[0]])
			text.WriteString(fill((*s.text)[at[0]:at[1]], s.link && within((*s.text)[:at[0]])))
			end = at[1]
		}
		*s.text = text.String() + (*s.text)[end:]
		if s.line {
			*s.text = strings.Join(strings.Fields(*s.text), " ")
		}
		if s.link {
			*s.text = escaped(*s.text)
		}
	}
	if len(missing) > 0 {
		return Body{}, &Refusal{ClassMissingField, fmt.Sprintf("the contact has no %s; give it a fallback: {{%s|…}}",
			strings.Join(missing, ", "), missing[0])}
	}
	if err := out.Check(false); err != nil {
		return Body{}, &Refusal{ClassBadContent, "with the fields of the contact, " + err.Error()}
	}
	return out, nil
}

// clone is a copy that shares nothing that Render changes.
func (b *Body) clone() Body {
	out := *b
	if b.Text != nil {
		out.Text = new(*b.Text)
	}
	for _, m := range out.media() {
		*m.at = cloneMedia(*m.at)
	}
	if b.Template != nil {
		out.Template = new(*b.Template)
		out.Template.Components = slices.Clone(b.Template.Components)
		for i, c := range out.Template.Components {
			ps := slices.Clone(c.Parameters)
			for j := range ps {
				ps[j].Image, ps[j].Video = cloneMedia(ps[j].Image), cloneMedia(ps[j].Video)
				ps[j].Document = cloneMedia(ps[j].Document)
			}
			out.Template.Components[i].Parameters = ps
		}
	}
	return out
}

func cloneMedia(m *Media) *Media {
	if m == nil {
		return nil
	}
	return new(*m)
}

package safexml_test

import (
	"encoding/xml"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html/charset"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/safexml"
)

// endless repeats a text n times without holding it.
func endless(text string, n int) io.Reader {
	return io.LimitReader(&repeated{text: text}, int64(len(text))*int64(n))
}

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (n int, _ error) {
	for n < len(p) {
		c := copy(p[n:], r.text[r.at:])
		n, r.at = n+c, (r.at+c)%len(r.text)
	}
	return n, nil
}

func document(parts ...any) io.Reader {
	var all []io.Reader
	for _, p := range parts {
		if s, ok := p.(string); ok {
			p = strings.NewReader(s)
		}
		all = append(all, p.(io.Reader))
	}
	return io.MultiReader(all...)
}

// drain reads all tokens, and returns how many there were and the most memory that was held on the way.
func drain(d *safexml.Decoder) (tokens int, most uint64, err error) {
	var s runtime.MemStats
	for {
		if _, err = d.RawToken(); err != nil {
			if runtime.ReadMemStats(&s); errors.Is(err, io.EOF) {
				err = nil
			}
			return tokens, max(most, s.Sys-s.HeapReleased), err
		}
		if tokens++; tokens%100_000 == 0 {
			runtime.ReadMemStats(&s)
			most = max(most, s.Sys-s.HeapReleased)
		}
	}
}

// Documents that encoding/xml makes hundreds of megabytes of end early.
func TestBounds(t *testing.T) {
	const many = 200 << 20
	for name, tt := range map[string]struct {
		in   io.Reader
		text string
	}{
		"text":               {document("<v>", endless("A", many)), "a text of the XML is longer than 1024 KiB"},
		"text before a tag":  {document(endless("A", many)), "a text of the XML"},
		"CDATA":              {document("<v><![CDATA[", endless("< <!", many/4)), "a text of the XML"},
		"comment":            {document("<v><!--", endless("<b>- ", many/5)), "a text of the XML"},
		"doctype":            {document("<!DOCTYPE a [", endless("<!E>", many/4)), "a text of the XML"},
		"declaration":        {document("<?a ", endless("<b ", many/3)), "a tag of the XML is longer than 64 KiB"},
		"attributes":         {document("x<urlset", endless(" a", many/2)), "a tag of the XML"},
		"attributes, few":    {document("<urlset", endless(" a", 5000), ">"), "more than 1000 attributes"},
		"value":              {document("<a b='", endless("b&lt;", many/5)), "a tag of the XML"},
		"name":               {document("<b/><", endless("a", many)), "a tag of the XML"},
		"end tag":            {document("<b></", endless("a", many)), "a tag of the XML"},
		"entity":             {document("<b>&", endless("a", many)), "a text of the XML"},
		"nesting":            {document(endless("<a>", many/3)), "nested more than 256 deep"},
		"encodings":          {document(endless(`<?xml version="1.0" encoding="latin1"?>`, many/39)), "declares its encoding twice"},
		"text, in UTF-16":    {document(`<?xml version="1.0" encoding="utf-16le"?>`, endless("\x41<", many/2)), "a text of the XML"},
		"attributes, Latin1": {document(`<?xml version="1.0" encoding="latin1"?><a`, endless(" b", many/2)), "a tag of the XML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, most, err := drain(safexml.NewDecoder(tt.in, true, charset.NewReaderLabel))
			require.ErrorContains(t, err, tt.text)
			class, _ := fault.Of(err)
			require.Equal(t, fault.Invalid, class)
			require.Less(t, most, uint64(64<<20), "bytes held")
		})
	}
}

// Behind a fault, what follows is read as if it had not been there.
func TestResume(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("c", safexml.MaxTag+1)
	for doc, want := range map[string]string{
		"<a b='<'>" + long:          "'>" + long,
		"<a><3 b</a>":               "<a> b</a>",
		"<a>x]]>y</a>":              "<a>y</a>",
		"<a>\x1b</a><b/>":           "<a></a><b></b>",
		"<a b='<c>d</c>":            "c>d</c>",
		"<a <b>c</b>":               "<b>c</b>",
		"<!-- -- <b> ->--><c/>":     "<c></c>",
		"<!-- -----><c/>":           "<c></c>",
		"<a>&#11;</a>b":             "<a></a>b",
		"</ a>b":                    " a>b",
		"<!-- --":                   "",
		"<a>&":                      "<a>",
		"<![CDATA[ <b/> ":           "",
		"<!DOCTYPE x [<!-- --a -->": "",
	} {
		d, got := safexml.NewDecoder(strings.NewReader(doc), true, nil), ""
		for {
			token, err := d.RawToken()
			if err != nil && !d.Resume() {
				require.ErrorIs(t, err, io.EOF, doc)
				break
			}
			switch token := token.(type) {
			case xml.StartElement:
				got += "<" + token.Name.Local + ">"
			case xml.EndElement:
				got += "</" + token.Name.Local + ">"
			case xml.CharData:
				got += string(token)
			}
		}
		require.Equal(t, want, got, doc)
		require.EqualValues(t, len(doc), d.InputOffset(), doc)
	}
	d := safexml.NewDecoder(document("<a>", endless("A", 2<<20)), true, nil)
	_, _, err := drain(d)
	require.ErrorContains(t, err, "a text of the XML")
	require.False(t, d.Resume(), "beyond the bounds")
}

// What is within the bounds is read as encoding/xml reads it, as long as it may be in all.
func TestTokens(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("é<!-- x < y --><b k=\"v\" w='&lt;'>&amp;c<![CDATA[<d>]]></b><e/>\n", 3) + "<?p q?><!DOCTYPE z>"
	long := strings.Repeat("a", safexml.MaxToken-1)
	for name, doc := range map[string]string{
		"mixed": text, "long texts": "<a>" + long + "</a>" + long + "<b/>" + long, "empty": "",
		"long tag": "<a b='" + strings.Repeat("c", safexml.MaxTag-9) + "'/>x", "broken": "<a></b",
	} {
		ours, theirs := safexml.NewDecoder(strings.NewReader(doc), false, nil), xml.NewDecoder(strings.NewReader(doc))
		for {
			got, err := ours.RawToken()
			want, wrong := theirs.RawToken()
			require.Equal(t, want, got, name)
			if require.Equal(t, wrong == nil, err == nil, name); err != nil {
				require.Equal(t, wrong.Error(), err.Error())
				break
			}
		}
	}
	n, most, err := drain(safexml.NewDecoder(document("<a>", endless("<b>text</b>", 2_000_000), "</a>"), false, nil))
	require.NoError(t, err)
	require.Equal(t, 6_000_002, n)
	require.Less(t, most, uint64(64<<20), "bytes held")
}

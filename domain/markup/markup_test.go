package markup_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mtlrent/conveyor/domain/markup"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// read reads a page of https://shop.example/p/1.
func read(t *testing.T, page string) markup.Data {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	base, err := url.Parse("https://shop.example/p/1")
	require.NoError(t, err)
	return markup.Read(doc, base)
}

// show writes items in one line: Product#id{name=Cup offers=Offer{price=5}}.
func show(items []*markup.Item) string {
	var all []string
	for _, i := range items {
		all = append(all, showItem(i))
	}
	return strings.Join(all, " ")
}

func showItem(i *markup.Item) string {
	var b strings.Builder
	b.WriteString(strings.Join(i.Types, "+"))
	if i.ID != "" {
		b.WriteString("#" + i.ID)
	}
	var props []string
	for _, name := range slices.Sorted(maps.Keys(i.Props)) {
		var values []string
		for _, v := range i.Props[name] {
			if v.Item != nil {
				values = append(values, showItem(v.Item))
			} else {
				values = append(values, v.Text)
			}
		}
		props = append(props, name+"="+strings.Join(values, "|"))
	}
	return b.String() + "{" + strings.Join(props, " ") + "}"
}

type page struct{ name, html, want string }

func check(t *testing.T, syntax markup.Syntax, pages []page) {
	t.Helper()
	for _, tt := range pages {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := read(t, tt.html)
			assert.Equal(t, tt.want, show(d.Items), tt.html)
			for _, i := range d.Items {
				if i.Syntax != syntax || i.Node == nil {
					t.Errorf("an item of %s at %v, want %s", i.Syntax, i.Node, syntax)
				}
			}
		})
	}
}

func TestJSONLD(t *testing.T) {
	t.Parallel()

	var pages []page
	for _, tt := range []page{
		{"valid", `{"@context":"https://schema.org","@type":"Product","name":"Cup","offers":{"@type":"Offer","price":5.50}}`,
			"Product{name=Cup offers=Offer{price=5.50}}"},
		{"numbers as written", `{"@type":"P","a":1e3,"b":-0.50,"c":12345678901234567890,"d":true,"e":false,"f":null}`,
			"P{a=1e3 b=-0.50 c=12345678901234567890 d=true e=false}"},
		{"escapes", `{"@type":"P","a":"\"\\\/\b\f\n\r\t\u20ac\ud83d\ude00\ud83d"}`, "P{a=\"\\/\b\f\n\r\t€😀\ufffd}"},
		{"the last of two keys", `{"@type":"P","a":"1","a":"2"}`, "P{a=2}"},
		{"an array at the top", `[{"@type":"A","n":1},{"@type":"B","n":2}]`, "A{n=1} B{n=2}"},
		{"a graph", `{"@context":"https://schema.org","@graph":[{"@type":"A"},{"@type":"B"}]}`, "A{} B{}"},
		{"a graph beside properties", `{"@type":"A","n":1,"@graph":[{"@type":"B"}]}`, "A{n=1} B{}"},
		{"graphs in an array", `[{"@graph":[{"@type":"A"}]},[{"@type":"B"}]]`, "A{} B{}"},
		{"types", `{"@type":["Product","http://schema.org/Car","schema:Thing","Product"]}`, "Product+Car+Thing{}"},
		{"prefixes of names", `{"@type":"https://schema.org/Product","schema:name":"a","https://schema.org/sku":"b"}`,
			"Product{name=a sku=b}"},
		{"names of the context", `{"@context":{"schema":"https://schema.org/","title":"schema:name","cost":{"@id":"schema:price"}},
			"@type":"Product","title":"a","cost":"1"}`, "Product{name=a price=1}"},
		{"value objects", `{"@type":"P","a":{"@value":"x","@language":"en"},"b":[{"@value":1},{"@value":2}],"c":{"@list":["y","z"]},
			"d":{"@set":["s"]}}`, "P{a=x b=1|2 c=y|z d=s}"},
		{"type and id without @", `{"type":"Product","id":"x","name":"n"}`, "Product#https://shop.example/p/x{id=x name=n type=Product}"},
		{"references", `{"@graph":[{"@type":"Product","brand":{"@id":"#b"}},{"@type":"Brand","@id":"#b","name":"Acme"}]}`,
			"Product{brand=Brand#https://shop.example/p/1#b{name=Acme}} Brand#https://shop.example/p/1#b{name=Acme}"},
		{"a reference to nothing", `{"@type":"A","n":{"@id":"http://x.example/y"}}`, "A{n=#http://x.example/y{}}"},
		{"a circle of references", `{"@graph":[{"@id":"_:a","@type":"A","to":{"@id":"_:b"}},{"@id":"_:b","@type":"B","to":{"@id":"_:a"}}]}`,
			"A#_:a{to=B#_:b{to=#_:a{}}} B#_:b{to=#_:a{}}"},
		{"a reference to itself", `{"@id":"_:a","@type":"A","to":{"@id":"_:a"}}`, "A#_:a{to=#_:a{}}"},
		{"entities", `{"@type":"P","a":"Tom &amp; Jerry &quot;x&quot; &#8364;","u":"/?a=1&copy=2"}`, `P{a=Tom & Jerry "x" € u=/?a=1&copy=2}`},

		// Broken
		{"in a comment of HTML", "<!--\n{\"@type\":\"P\",\"a\":1}\n-->", "P{a=1}"},
		{"in CDATA", "<![CDATA[{\"@type\":\"P\"}]]>", "P{}"},
		{"in CDATA behind line comments", "//<![CDATA[\n{\"@type\":\"P\"}\n//]]>", "P{}"},
		{"in CDATA behind line comments, one line", "// <![CDATA[ {\"@type\":\"P\"} // ]]>", "P{}"},
		{"in CDATA behind comments", "/*<![CDATA[*/{\"@type\":\"P\"}/*]]>*/", "P{}"},
		{"comments", "// a\n{\"@type\":\"P\", /* b \" */ \"u\":\"http://x/*y*/\", // c\n\"v\":\"//z\" // d }\n}", "P{u=http://x/*y*/ v=//z}"},
		{"raw line ends and control characters", "{\"@type\":\"P\",\"a\":\"x\ny\tz\x01\x1f\"}", "P{a=x\ny\tz\x01\x1f}"},
		{"trailing commas", `{"@type":"P","a":[1,2,],"b":3,}`, "P{a=1|2 b=3}"},
		{"commas too many", `[{"@type":"P",,"a":1},,{"@type":"Q"}]`, "P{a=1} Q{}"},
		{"a comma forgotten", `{"@type":"P" "a":"x" "b":1}`, "P{a=x b=1}"},
		{"a comma forgotten in an array", `{"@type":"P","a":[{"n":1} {"n":2}]}`, "P{a={n=1}|{n=2}}"},
		{"a trailing semicolon", `{"@type":"P"};`, "P{}"},
		{"several objects", "{\"@type\":\"A\"}{\"@type\":\"B\"}\n{\"@type\":\"C\"},{\"@type\":\"D\"}", "A{} B{} C{} D{}"},
		{"an assignment", `var x = {"@type":"P"};`, "P{}"},
		{"a byte order mark", "\ufeff{\"@type\":\"P\"}", "P{}"},
		{"NaN and undefined", `{"@type":"P","a":NaN,"b":undefined,"c":"x"}`, "P{c=x}"},
		{"nothing where a value should be", `{"@type":"P","a":,"b":1,"c":}`, "P{b=1}"},
		{"quotes that are not escaped", `{"@type":"P","a":"a 12" display, b","b":"He said "hello, world", and left","c":"5""}`,
			`P{a=a 12" display, b b=He said "hello, world", and left c=5"}`},
		{"single quotes", `{'@type':'P','a':'it\'s'}`, "P{a=it's}"},
		{"names without quotes", `{@type:"P",name:"x"}`, "P{name=x}"},
		{"texts without quotes", `{"@type":"P","a":In stock,"b":1}`, "P{a=In stock b=1}"},
		{"a comma in a number", `{"@type":"P","price":1,299.00,"b":2}`, "P{b=2 price=1,299.00}"},
		{"an unknown escape", `{"@type":"P","a":"C:\path \x"}`, `P{a=C:\path \x}`},
		{"a continued line", "{\"@type\":\"P\",\"a\":\"x\\\ny\"}", "P{a=x y}"},
		{"a list that PHP has written as an object", `{"@graph":{"1":{"@type":"P","a":{"0":1,"2":{"n":2}}},"4":{"@type":"Q","b":{"0x":1}}}}`,
			"P{a=1|{n=2}} Q{b={0x=1}}"},
		{"tags of lines", "<p>{<br />\n\"@type\":\"P\",<br />\n\"a\":1<BR>,\n</p>\n<p class=\"x\">\"b\":\"<br>x\"<br/>}</p>", "P{a=1 b=<br>x}"},
		{"typographic quotes alone", `{“@type”: “P”, ”a”: „12″ wide, x“, “b”: 1}`, `P{a=12" wide, x b=1}`},
		{"typographic quotes as entities", `{&#8220;@type&#8221;: &#8220;P&#8221;, &ldquo;a&rdquo;: &#8220;x&#8221;}`, "P{a=x}"},
		{"typographic quotes in a text", `{"@type":"P","a":"“x” @ y"}`, "P{a=“x” @ y}"},
		{"JSON as a text of JSON", `"{\"@type\":\"P\",\n \"a\":\"12\\\" x\",\"b\":\"\\u20ac\"}"`, `P{a=12" x b=€}`},
		{"quotes with a backslash", `[ {\"@type\":\"P\",\"u\":\"\/x\"} ]`, "P{u=/x}"},
		{"escapes of JavaScript", `{"@type":"P","a":"Ann\x27s \x26rsquo; \xyz \x"}`, `P{a=Ann's ’ \xyz \x}`},
		{"made JSON twice", `{"@type":"P","a":"\"x y\"","b":"5\"","c":"\"x\" or \"y\"","d":"\"\""}`, `P{a=x y b=5" c="x" or "y" d=""}`},
		{"spaces that are none in JSON", "{\u200b\"@type\":\u2003\"P\",\u2060\"a\":\u200b\"x\"\ufeff}", "P{a=x}"},
		{"no end", `{"@type":"P","a":"x","b":{"c":[1,2`, "P{a=x b={c=1|2}}"},
		{"no end of a text", `{"@type":"P","a":"x`, "P{a=x}"},
		{"ends that do not match", `{"@type":"P","a":[1,2},{"@type":"Q"}]`, "P{a=1|2} Q{}"},
		{"an end too many", `{"@type":"P"}}]{"@type":"Q"}`, "P{} Q{}"},
		{"quotes as entities", `{&quot;@type&quot;:&quot;P&quot;,&quot;a&quot;:&quot;x&quot;}`, "P{a=x}"},
		{"nothing", ``, ""},
		{"no JSON", `function () { return [] }`, ""},
		{"a text", `"Product"`, ""},
	} {
		pages = append(pages, page{tt.name, `<script type="application/ld+json">` + tt.html + `</script>`, tt.want})
	}
	pages = append(pages,
		page{"the type in capitals", `<body><script TYPE=" Application/LD+JSON; charset=utf-8">{"@type":"P"}</script>`, "P{}"},
		page{"another script", `<script type="application/json">{"@type":"P"}</script><script>{"@type":"Q"}</script>`, ""},
		page{"two scripts", `<script type="application/ld+json">{"@type":"P","b":{"@id":"#b"}}</script>
			<script type="application/ld+json">{"@id":"#b","name":"n"}</script>`,
			"P{b=#https://shop.example/p/1#b{name=n}} #https://shop.example/p/1#b{name=n}"},
	)
	check(t, markup.JSONLD, pages)
}

func TestMicrodata(t *testing.T) {
	t.Parallel()

	check(t, markup.Microdata, []page{
		{"nested", `<div itemscope itemtype="http://schema.org/Product"><h1 itemprop=name> A <b>cup</b></h1>
			<div itemprop=offers itemscope itemtype="https://schema.org/Offer"><span itemprop=price>5</span></div></div>`,
			"Product{name=A cup offers=Offer{price=5}}"},
		{"several names and types", `<p itemscope itemtype="http://schema.org/A http://schema.org/B" itemid="#x"><i itemprop="a b">v</i></p>`,
			"A+B#https://shop.example/p/1#x{a=v b=v}"},
		{"attributes", `<div itemscope><meta itemprop=a content=" x "><link itemprop=b href="http://schema.org/InStock"><img itemprop=c src="/i.jpg">
			<a itemprop=d href="../q?x=1">t</a><time itemprop=e datetime="2020-01-02">then</time><time itemprop=f>now</time>
			<data itemprop=g value=7>seven</data><object itemprop=h data=o></object><video itemprop=i src=v></video><meter itemprop=j value=".5">half</meter></div>`,
			"{a=x b=http://schema.org/InStock c=https://shop.example/i.jpg d=https://shop.example/q?x=1 e=2020-01-02 f=now " +
				"g=7 h=https://shop.example/p/o i=https://shop.example/p/v j=.5}"},
		{"content on any element", `<div itemscope><span itemprop=price content="1299.00">1.299 €</span><a itemprop=u content=x href=/y>z</a></div>`,
			"{price=1299.00 u=x}"},
		{"the text of a link that is a name", `<div itemscope><a itemprop=brand href=/acme>Acme</a><a itemprop=url href=/acme>Acme</a></div>`,
			"{brand=Acme url=https://shop.example/acme}"},
		{"an image that is loaded later", `<div itemscope><img itemprop=image src="data:image/gif;base64,R0" data-src="/i.jpg"></div>`,
			"{image=https://shop.example/i.jpg}"},
		{"without the attribute", `<div itemscope><meta itemprop=a><link itemprop=b><img itemprop=c><a itemprop=d>t</a></div>`, "{a= b= c= d=t}"},
		{"itemref", `<div itemscope itemtype=P itemref="x y none"><i itemprop=a>1</i></div><p id=x><i itemprop=b>2</i></p><p id=y itemprop=c>3</p>`,
			"P{a=1 b=2 c=3}"},
		{"itemref to an item", `<div itemscope itemtype=P itemref=o></div><p id=o itemprop=offers itemscope itemtype=O><i itemprop=price>1</i></p>`,
			"P{offers=O{price=1}}"},
		{"itemref to itself", `<div itemscope itemtype=P itemprop=p id=p itemref=p><i itemprop=a>1</i></div>`, "P{a=1}"},
		{"itemref in a circle", `<div id=a itemprop=a itemscope itemtype=A itemref=b></div><div id=b itemprop=b itemscope itemtype=B itemref=a></div>`,
			"A{b=B{}}"},
		{"an item in an item, without a name", `<div itemscope itemtype=A><div itemscope itemtype=B><i itemprop=x>1</i></div></div>`, "A{} B{x=1}"},
		{"an item whose parent is lost", `<div itemprop=offers itemscope itemtype=O><i itemprop=price>1</i></div>`, "O{price=1}"},
		{"a property in a property", `<div itemscope><div itemprop=a>x <i itemprop=b>y</i></div></div>`, "{a=x y b=y}"},
		{"raised cents", `<div itemscope><b itemprop=price>63<sup>07</sup> Lei</b><i itemprop=size>3 m<sup>2</sup></i></div>`,
			"{price=63⁰⁷ Lei size=3 m²}"},
		{"no scripts in texts", `<div itemscope><div itemprop=a>x<script>y</script><style>z</style><br>w</div></div>`, "{a=x w}"},
		{"names that are addresses", `<div itemscope itemtype="http://data-vocabulary.org/Product"><i itemprop="http://schema.org/name">x</i></div>`,
			"Product{name=x}"},
		{"a property outside", `<i itemprop=price>1</i>`, ""},
	})
}

func TestRDFa(t *testing.T) {
	t.Parallel()

	check(t, markup.RDFa, []page{
		{"lite", `<div vocab="https://schema.org/" typeof="Product" resource="#p"><h1 property=name>Cup</h1><img property=image src=/i.jpg>
			<div property=offers typeof=Offer><meta property=price content="5.00"><link property=availability href="https://schema.org/InStock">
			<span property=priceCurrency content=EUR>€</span></div></div>`,
			"Product#https://shop.example/p/1#p{image=https://shop.example/i.jpg name=Cup " +
				"offers=Offer{availability=https://schema.org/InStock price=5.00 priceCurrency=EUR}}"},
		{"prefixes", `<div prefix="s: http://schema.org/" typeof="s:Product"><i property="s:name schema:alternateName">x</i></div>`,
			"Product{alternateName=x name=x}"},
		{"whole addresses", `<div typeof="http://schema.org/Product"><i property="http://schema.org/name">x</i></div>`, "Product{name=x}"},
		{"data-vocabulary", `<div xmlns:v="http://rdf.data-vocabulary.org/#" typeof="v:Product"><b property="v:name">x</b>
			<span rel="v:offerDetails"><span typeof="v:Offer"><i property="v:price" content="1">one</i></span></span></div>`,
			"Product{name=x offerDetails=Offer{price=1}}"},
		{"good relations", `<div typeof="gr:Offering" about="#o"><div rel="gr:hasPriceSpecification"><div typeof="gr:UnitPriceSpecification">
			<span property="gr:hasCurrencyValue" content="9.9"></span></div></div><a rel="nofollow foaf:page" href="/x">y</a></div>`,
			"Offering#https://shop.example/p/1#o{hasPriceSpecification=UnitPriceSpecification{hasCurrencyValue=9.9} " +
				"page=https://shop.example/x}"},
		{"open graph", `<div typeof="og:product"><i property="og:title">x</i></div>`, "product{title=x}"},
		{"resources", `<div typeof=P><i property=a resource="/r">x</i><a property=b href="/h">y</a><a property=name href="/h">z</a></div>`,
			"P{a=https://shop.example/r b=https://shop.example/h name=z}"},
		{"an item in an item, without a name", `<div typeof=A><div typeof=B><i property=x>1</i></div></div>`, "A{} B{x=1}"},
		{"a property outside", `<i property="schema:name">x</i>`, ""},
	})
}

func TestMeta(t *testing.T) {
	t.Parallel()

	d := read(t, `<html itemscope itemtype="http://schema.org/WebPage"><head>
		<meta property="OG:Title" content=" A cup "><meta property="og:image" content="/1.jpg"><meta property="og:image" content="/2.jpg">
		<meta name="twitter:data1" content="$5"><meta name="Description" content="x"><meta itemprop="inside" content="no"><meta name="empty">
		<meta property="product:price:amount" content="5.00"></head></html>`)
	want := map[string][]string{"og:title": {"A cup"}, "og:image": {"/1.jpg", "/2.jpg"}, "twitter:data1": {"$5"}, "description": {"x"},
		"product:price:amount": {"5.00"}}
	if !maps.EqualFunc(d.Meta, want, slices.Equal) {
		t.Errorf("meta is %q, want %q", d.Meta, want)
	}
	require.Equal(t, "WebPage{inside=no}", show(d.Items))
	d = read(t, `<body><meta itemprop="price" content="5"><div typeof="Product"><meta property="name" content="x"><meta property="og:type" content="y">`)
	want = map[string][]string{"price": {"5"}, "og:type": {"y"}}
	if !maps.EqualFunc(d.Meta, want, slices.Equal) {
		t.Errorf("meta is %q, want %q", d.Meta, want)
	}
}

// TestData looks at the order of items of all syntaxes, and at an item's answers.
func TestData(t *testing.T) {
	t.Parallel()

	d := read(t, `<div itemscope itemtype="http://schema.org/Product"><i itemprop=name>1</i></div>
		<script type="application/ld+json">[{"@type":"Product","name":"2","brand":{"@type":"Brand","name":" A\n B "},
			"isSimilarTo":{"@type":"product","name":"3"},"sku":["","x"],"offers":[{"@type":"Offer","price":1},"o",{"@type":"AggregateOffer"}]},
			{"@type":"Thing"}]</script>
		<div typeof="schema:Product"><i property=name>4</i></div>`)
	var names []string
	for _, i := range d.Find("Product") {
		names = append(names, i.Text("name"))
	}
	require.Equal(t, []string{"1", "2", "3", "4"}, names)
	if len(d.Items) != 4 || len(d.Find("Offer", "AggregateOffer")) != 2 || len(d.Find()) != 0 || len(d.Find("Nothing")) != 0 {
		t.Errorf("data is %s", show(d.Items))
	}
	p := d.Items[1]
	if !p.Is("Offer", "PRODUCT") || p.Is("Brand") || p.Is() {
		t.Errorf("types are %q", p.Types)
	}
	for prop, want := range map[string]string{"name": "2", "brand": "A B", "sku": "x", "offers": "o", "none": ""} {
		assert.Equal(t, want, p.Text(prop), prop)
	}
	if got := show(p.Items("offers")); got != "Offer{price=1} AggregateOffer{}" || p.Items("name") != nil {
		t.Errorf("offers are %s", got)
	}
	if got := show(markup.Read(d.Items[0].Node, nil).Items); got != "" { // an element's children, without a base
		t.Errorf("the children hold %s", got)
	}
}

// TestHostile reads pages that are built to cost much. It is done when they end.
func TestHostile(t *testing.T) {
	t.Parallel()

	ld := func(s string) string { return `<script type="application/ld+json">` + s + `</script>` }
	var web, refs strings.Builder
	for i := range 3000 { // each refers to all that follow: 2^3000 paths
		fmt.Fprintf(&web, `{"@id":"_:%d","@type":"P","a":{"@id":"_:%d"},"b":{"@id":"_:%d"},"c":{"@id":"_:0"}},`, i, i+1, i+1)
		fmt.Fprintf(&refs, `<div itemscope itemref="all"></div>`)
	}
	for name, s := range map[string]string{
		"a web of references": ld(`{"@graph":[` + web.String() + `]}`),
		"itemrefs to a whole": `<div id=all>` + strings.Repeat(`<i itemprop=x>y</i>`, 3000) + `</div>` + refs.String(),
		"items without end":   ld(`[` + strings.Repeat(`{"a":{"b":{}}},`, 100_000) + `]`),
		"items of microdata":  strings.Repeat(`<i itemscope itemprop=a>x</i>`, 50_000),
		"deep texts":          strings.Repeat(`<div itemprop=a>`, 400) + strings.Repeat("x ", 100_000),
		"deep texts, an item": `<div itemscope>` + strings.Repeat(`<div itemprop=a>`, 400) + strings.Repeat("<i>x</i>", 20_000),
		"keys":                ld(`{"@type":"P"` + strings.Repeat(`,"k":1`, 200_000) + `}`),
		"contexts":            ld(`{"@context":{` + strings.Repeat(`"k":"schema:x",`, 100_000) + `},"x":[` + strings.Repeat(`{"@context":{"z":"schema:y"}},`, 20_000) + `]}`),
		"types":               ld(`{"@type":[` + strings.Repeat(`"A",`, 100_000) + `]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := read(t, s)
			d.Find("P")
		})
	}
	for _, s := range []string{"[", `{"a":`, `"`, "a ", `{"a":"b"c"`, "/*", "//", "{a:'", `\"`, "[1 ", `"a" b `, `{"a":"x, "y" `, `"a,`, `",   `,
		"<!--", `{"@graph":[`, `{"@context":{"a":`, `["@value",`, `{"@type":"A","b":{"@id":"c"}},`, `&quot;`, "\\u", "{", "}", `",`, `{"a":[`, `{"":{},`} {
		read(t, ld(strings.Repeat(s, 1<<18/len(s))))
		read(t, ld(`{"@type":"P","a":"`+strings.Repeat(s, 1<<18/len(s))))
	}
}

// TestHostileNames reads lists of names of which each is another, and a text that thousands of items refer to.
func TestHostileNames(t *testing.T) {
	t.Parallel()

	var names, types strings.Builder
	for n := range 150_000 {
		fmt.Fprintf(&names, " n%d", n)
		fmt.Fprintf(&types, `"n%d",`, n)
	}
	for name, page := range map[string]string{
		"itemprop": `<div itemscope><i itemprop="` + names.String() + `">x</i></div>`,
		"itemtype": `<div itemscope itemtype="` + names.String() + `"></div>`,
		"property": `<div typeof=P><i property="` + names.String() + `">x</i></div>`,
		"@type":    `<script type="application/ld+json">{"@type":[` + types.String() + `]}</script>`,
	} {
		t.Run(name, func(t *testing.T) {
			took := servicetest.CPU(func() { read(t, page).Find("P") })
			if took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestSharedText reads a text to which many items refer: it is kept once. It runs alone, for it counts bytes.
func TestSharedText(t *testing.T) {
	const items = 1_000
	text := strings.Repeat("a  b ", 20_000)
	doc, err := html.Parse(strings.NewReader(`<meta id=t itemprop=name content="` + text + `">` +
		strings.Repeat("<div itemscope itemref=t></div>", items)))
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := markup.Read(doc, nil)
	runtime.ReadMemStats(&after)
	require.Len(t, d.Items, items)
	require.Len(t, d.Items[items-1].Text("name"), 79_999)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20<<20))
}

// FuzzRead looks for pages that stop the reader, for items that contain themselves, and for valid JSON that is not read
// as it is.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"@type":"P","a":[1,{"b":"c"}]}`, `<div itemscope itemref=x><i itemprop=a id=x>b`, `<div typeof="v:P"><i property=v:a>`,
		`{"a":"b"c","d":'e',f:g}`, `{"@graph":[{"@id":"a","b":{"@id":"a"}}],"@context":{"x":"schema:y"}}`, `<!-- // /* {"a":1,299} */ -->`,
		`["\ud83d\ude00\u00e9\\\n",-1.5e+3,true,null,""," , ","]",{"":{}}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, page := range []string{s, `<script type="application/ld+json">` + s + `</script>`} {
			doc, err := html.Parse(strings.NewReader(page))
			if err != nil {
				return
			}
			d := markup.Read(doc, &url.URL{Scheme: "https", Host: "shop.example"})
			open := map[*markup.Item]bool{}
			for _, i := range d.Items {
				walk(t, i, open, 0)
			}
			d.Find("P")
		}
		if !json.Valid([]byte(s)) || !utf8.ValidString(s) || strings.ContainsAny(s, "<&\x00\r") || strings.Contains(s, `"@`) {
			return
		}
		d := read(t, `<script type="application/ld+json">{"@type":"P","v":[`+s+`]}</script>`)
		var want any
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil || len(d.Items) != 1 || depth(want) > 60 || !plain(want) {
			return
		}
		assert.Equal(t, showItem(&markup.Item{Types: []string{"P"}, Props: props("v", want)}), showItem(d.Items[0]), s)
	})
}

// walk looks for an item that is a part of itself.
func walk(t *testing.T, i *markup.Item, open map[*markup.Item]bool, deep int) {
	require.False(t, open[i], "an item is a part of itself")
	if deep > 8 {
		return
	}
	open[i] = true
	for _, values := range i.Props {
		for _, v := range values {
			if v.Item != nil {
				walk(t, v.Item, open, deep+1)
			}
		}
	}
	delete(open, i)
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			deepest = max(deepest, depth(x))
		}
	case map[string]any:
		for _, x := range v {
			deepest = max(deepest, depth(x))
		}
	}
	return deepest + 1
}

// plain tells whether all names are taken as they are.
func plain(v any) bool {
	switch v := v.(type) {
	case string:
		return !strings.HasPrefix(v, `"`)
	case []any:
		return !slices.ContainsFunc(v, func(x any) bool { return !plain(x) })
	case map[string]any:
		for key, x := range v {
			if key == "" || key == "type" || key == "id" || key != strings.TrimSpace(key) || strings.ContainsAny(key, "/#:@") ||
				strings.Trim(key, "0123456789") == "" || !plain(x) {
				return false
			}
		}
	}
	return true
}

// props returns a property as encoding/json decodes it.
func props(name string, v any) map[string][]markup.Value {
	m := map[string][]markup.Value{}
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				add(x)
			}
		case map[string]any:
			i := &markup.Item{Props: map[string][]markup.Value{}}
			for key, x := range v {
				maps.Copy(i.Props, props(key, x))
			}
			m[name] = append(m[name], markup.Value{Item: i})
		case nil:
		default:
			m[name] = append(m[name], markup.Value{Text: fmt.Sprint(v)})
		}
	}
	add(v)
	return m
}

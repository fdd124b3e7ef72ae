package campaign_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

const promo = `{"type":"template","template":{"name":"spring_sale","language":{"code":"fr_CA"},"components":[
	{"type":"header","parameters":[{"type":"image","image":{"link":"https://i.example/{{city|all}}.jpg"}}]},
	{"type":"body","parameters":[{"type":"text","text":"{{ given_name | vous }}"},
		{"type":"text","parameter_name":"city","text":"{{city}}, {{ given_name|}} {{Code postal|?}}"}]},
	{"type":"button","sub_type":"url","index":"0","parameters":[{"type":"text","text":"{{id}}"}]}]}}`

// read reads a body that has no other members than those of a Body.
func read(t *testing.T, doc string) (b campaign.Body) {
	t.Helper()

	d := json.NewDecoder(strings.NewReader(doc))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&b))
	return b
}

func TestRender(t *testing.T) {
	t.Parallel()

	b := read(t, promo)
	require.NoError(t, b.Check(true))
	require.Equal(t, []string{"city", "given_name", "Code postal", "id"}, b.Fields())
	render := func(fields map[string]string) (string, error) {
		out, err := b.Render(func(name string) string { return fields[name] })
		if err != nil {
			return "", err
		}
		doc, err := json.Marshal(out)
		require.NoError(t, err)
		return string(doc), nil
	}
	got, err := render(map[string]string{"given_name": " Zoé\n\tAnne ", "city": "Laval", "id": "7"})
	require.NoError(t, err)
	require.JSONEq(t, `{"type":"template","template":{"name":"spring_sale","language":{"code":"fr_CA"},"components":[
		{"type":"header","parameters":[{"type":"image","image":{"link":"https://i.example/Laval.jpg"}}]},
		{"type":"body","parameters":[{"type":"text","text":"Zoé Anne"},
			{"type":"text","parameter_name":"city","text":"Laval, Zoé Anne ?"}]},
		{"type":"button","sub_type":"url","index":"0","parameters":[{"type":"text","text":"7"}]}]}}`, got)
	again, err := json.Marshal(b)
	require.NoError(t, err)
	require.JSONEq(t, promo, string(again), "the template is as it was")

	got, err = render(map[string]string{"city": "Laval", "id": "{{city}}"})
	require.NoError(t, err)
	require.Contains(t, got, `"text":"vous"`)
	require.Contains(t, got, `"text":"{{city}}"`, "a field is text, and no placeholder")

	var refusal *campaign.Refusal
	_, err = render(map[string]string{"given_name": "Zoé"})
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, campaign.ClassMissingField, refusal.Class)
	require.Equal(t, "the contact has no city, id; give it a fallback: {{city|…}}", refusal.Reason)

	_, err = render(map[string]string{"city": strings.Repeat("x", 1025), "id": "1"})
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, campaign.ClassBadContent, refusal.Class)
	require.Contains(t, refusal.Reason, "template.components[1].parameters[1].text: has 1028 characters, the most is 1024")
}

// A field that only holds spaces is missing, and a parameter that comes to be empty is refused before Meta does it.
func TestRenderEmpty(t *testing.T) {
	t.Parallel()

	var refusal *campaign.Refusal
	b := read(t, `{"type":"template","template":{"name":"a","language":{"code":"en"},"components":[{"type":"body",
		"parameters":[{"type":"text","text":"{{name|}}"}]}]}}`)
	_, err := b.Render(func(string) string { return " \u00a0" })
	require.True(t, errors.As(err, &refusal))
	require.Equal(t, campaign.ClassBadContent, refusal.Class)
	require.Contains(t, refusal.Reason, "is empty")

	for _, none := range []string{"\u200b\u2060 ", "\u3164", "\u2800\u2800", "\u115f\u1160", "\uffa0"} {
		_, err = b.Render(func(string) string { return none })
		require.ErrorContains(t, err, "is empty", "what nobody sees: %+q", none)
	}
	file := read(t, `{"type":"image","image":{"link":"https://i.example/{{city|a b}}.jpg?q={{q|1}}","caption":"{{city}}"}}`)
	for city, want := range map[string]string{
		"Saint Jérôme": "Saint%20J%C3%A9r%C3%B4me", "a%20b/c": "a%20b/c", "Suite #4": "Suite%20%234", "what?": "what%3F",
		"A & B": "A%20%26%20B", "C++": "C%2B%2B", "50% off": "50%25%20off", "100%": "100%25", "%2": "%252", "%é1": "%25%C3%A91", "\ufeff": "a%20b", `"<>`: "%22%3C%3E",
	} {
		out, err := file.Render(func(name string) string { return map[string]string{"city": city, "q": ""}[name] })
		if city == "\ufeff" {
			require.ErrorContains(t, err, "has no city", "the caption has no fallback")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, "https://i.example/"+want+".jpg?q=1", out.Image.Link)
		require.Equal(t, city, out.Image.Caption, "a text is none")
	}
	for _, tt := range []struct{ link, value, want string }{
		{"{{at}}", "https://münchen.example/a b.jpg?q=1&r=2#s", "https://münchen.example/a%20b.jpg?q=1&r=2#s"},
		{"{{at}}", "https://i.example", "https://i.example"},
		{"{{at}}", "HTTPS://i.example?q=é", "HTTPS://i.example?q=%C3%A9"},
		{"{{at}}/{{at|}}.jpg", "https://i.example", "https://i.example/https://i.example.jpg"},
		{"https://{{at}}", "i.example/a b.jpg?sig=1", "https://i.example/a%20b.jpg?sig=1"},
		{"https://{{at}}.example/{{at}}?{{at}}", "münchen", "https://münchen.example/m%C3%BCnchen?m%C3%BCnchen"},
		{"https://i.example/{{none|a/b.jpg?q=1}}", "", "https://i.example/a/b.jpg?q=1"},
		{"https://i.example/?q={{at}}&r={{at}}", "a&b", "https://i.example/?q=a%26b&r=a%26b"},
		{"https://i.example/{{at}}", "p/1 2.jpg?Expires=1&Sig=a+b", "https://i.example/p/1%202.jpg?Expires=1&Sig=a+b"},
		{"https://i.example/a.jpg?{{at}}", "Expires=1&Sig=ab", "https://i.example/a.jpg?Expires=1&Sig=ab"},
		{"https://i.example/a.jpg?b=1&{{at}}", "c=1&d=2#e", "https://i.example/a.jpg?b=1&c=1&d=2%23e"},
		{"{{none|https://i.example}}{{at}}", "/a.jpg?b=1&c=2", "https://i.example/a.jpg?b=1&c=2"},
		{"https://i.example/?q={{at}}", "a?b=1&c=2", "https://i.example/?q=a%3Fb=1%26c=2"},
		{"https://i.example/a.jpg?{{at}}", "A & B", "https://i.example/a.jpg?A%20%26%20B"},
		{"https://i.example/a.jpg?q={{at}}", "b=1&c=2", "https://i.example/a.jpg?q=b=1%26c=2"},
		{"https://i.example/{{at}}.jpg", "why? a=b & c", "https://i.example/why%3F%20a=b%20%26%20c.jpg"},
		{"https://i.example/50%/{{at}}", "a", "https://i.example/50%25/a"},
	} {
		file := read(t, `{"type":"image","image":{"link":"`+tt.link+`"}}`)
		out, err := file.Render(func(name string) string { return map[string]string{"at": tt.value}[name] })
		require.NoError(t, err, tt.link)
		require.Equal(t, tt.want, out.Image.Link, tt.link)
	}

	text := read(t, `{"type":"text","text":{"body":"Hello {{name}},\n\n  {{name|you}}"}}`)
	out, err := text.Render(func(string) string { return "Zoé" })
	require.NoError(t, err)
	require.Equal(t, "Hello Zoé,\n\n  Zoé", out.Text.Body, "a text keeps its lines")
	_, err = text.Render(func(string) string { return " " })
	require.ErrorContains(t, err, "has no name")
}

func TestCheckBody(t *testing.T) {
	t.Parallel()

	template := func(rest string) string {
		return `{"type":"template","template":{"name":"a","language":{"code":"en"}` + rest + `}}`
	}
	for _, tt := range []struct {
		name, doc, wrong string
	}{
		{"a template without parameters", template(""), ""},
		{"a text", `{"type":"text","text":{"body":"hi","preview_url":true}}`, ""},
		{"an image", `{"type":"image","image":{"id":"123","caption":"c"}}`, ""},
		{"a document", `{"type":"document","document":{"link":"https://a.example/b.pdf","filename":"b.pdf"}}`, ""},
		{"a link of another case", `{"type":"image","image":{"link":"HTTPS://a.example/b.png","caption":"c"}}`, ""},
		{"a caption of audio", `{"type":"audio","audio":{"id":"1","caption":"c"}}`, "audio.caption: is not part of audio"},
		{"a caption of a sticker", `{"type":"sticker","sticker":{"id":"1","caption":"c"}}`, "sticker.caption"},
		{"a file name of an image", `{"type":"image","image":{"id":"1","filename":"c.png"}}`, "image.filename: is not part of image"},
		{"a file name in a header", template(`,"components":[{"type":"header","parameters":[{"type":"video",
			"video":{"id":"1","filename":"c.mp4"}}]}]`), "parameters[0].video.filename"},
		{"no type", `{}`, `type: is ""`},
		{"another type", `{"type":"poll"}`, `type: is "poll"`},
		{"a type without its member", `{"type":"text"}`, "text: is missing"},
		{"two members", `{"type":"text","text":{"body":"a"},"image":{"id":"1"}}`, "image: is not part of"},
		{"an empty text", `{"type":"text","text":{"body":" "}}`, "text.body: is empty"},
		{"a long text", `{"type":"text","text":{"body":"` + strings.Repeat("é", 4097) + `"}}`, "has 4097 characters"},
		{"a NUL", `{"type":"text","text":{"body":"a\u0000"}}`, "NUL"},
		{"media twice", `{"type":"image","image":{"id":"1","link":"https://a.example"}}`, "has both"},
		{"media of nothing", `{"type":"audio","audio":{}}`, "neither id nor link"},
		{"a link that is none", `{"type":"image","image":{"link":"http://a.example"}}`, "https://"},
		{"a name of a template", `{"type":"template","template":{"name":"A b","language":{"code":"english"}}}`,
			"template.language.code"},
		{"a component", template(`,"components":[{"type":"footer","parameters":[]}]`), "components[0].type"},
		{"a button without its number", template(`,"components":[{"type":"button","sub_type":"url","parameters":[]}]`), "index"},
		{"a parameter", template(`,"components":[{"type":"body","parameters":[{"type":"money"}]}]`), `is "money"`},
		{"a parameter that is empty", template(`,"components":[{"type":"body","parameters":[{"type":"text"}]}]`), "is empty"},
		{"a parameter of two lines", template(`,"components":[{"type":"body","parameters":[{"type":"text","text":"a\nb"}]}]`),
			"line break"},
		{"an image that is none", template(`,"components":[{"type":"header","parameters":[{"type":"image"}]}]`),
			"parameters[0].image: is missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			b := read(t, tt.doc)
			err := b.Check(false)
			if tt.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.wrong)
			class, _ := fault.Of(err)
			require.Equal(t, fault.Invalid, class)
		})
	}
	for text, wrong := range map[string]string{
		"{{name}}": "", "{{name|}}": "", "a {{name|b c}} d": "", "{{}}": "without a field", "{{ |a}}": "without a field",
		"{{name": "outside", "name}}": "outside", "{{a{b}}": "outside", "{{a|b|c}}": "",
	} {
		doc, err := json.Marshal(campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: text}})
		require.NoError(t, err)
		b := read(t, string(doc))
		if wrong == "" {
			require.NoError(t, b.Check(true), text)
		} else {
			require.ErrorContains(t, b.Check(true), wrong, text)
		}
	}
}

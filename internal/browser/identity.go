package browser

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// identity is how the browser identifies itself on one page, in headers and to scripts alike. It is always an ordinary
// Chromium of this version on Linux, which is the truth: another system would be given away by its fonts,
// its graphics and its workers. What differs is the brand and the screen; the languages differ from one Chromium to the
// next only, for its workers know no others.
type identity struct {
	brand         string   // "" is plain Chromium
	suffix        string   // of the user agent
	languages     []string // the most wanted first
	width, height int      // of the screen, CSS pixels
	scale         float64  // device pixels a CSS pixel
}

var brands = []struct{ brand, suffix string }{
	{"Google Chrome", ""}, {"Google Chrome", ""}, {"", ""}, {"Microsoft Edge", " Edg/%s.0.0.0"},
}

// A private window says the first of its languages and then those of its menus, which are English here.
var languages = [][]string{{"fr-CA", "en-US", "en"}, {"en-CA", "en-US", "en"}}

var screens = []struct {
	width, height int
	scale         float64
}{
	{1920, 1080, 1}, {1920, 1080, 1}, {1366, 768, 1}, {1536, 864, 1.25}, {1440, 900, 1}, {1680, 1050, 1}, {2560, 1440, 1},
}

// pick draws an identity with these languages.
func pick(languages []string) identity {
	b, s := brands[rand.IntN(len(brands))], screens[rand.IntN(len(screens))]
	return identity{
		brand: b.brand, suffix: b.suffix, languages: languages,
		width: s.width, height: s.height, scale: s.scale,
	}
}

// userAgent is the string of a browser of this version, "156.0.8078.79".
func (id identity) userAgent(version string) string {
	major, _, _ := strings.Cut(version, ".")
	ua := fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%s.0.0.0 Safari/537.36",
		major)
	if id.suffix != "" {
		ua += fmt.Sprintf(id.suffix, major)
	}
	return ua
}

// override are the parameters of Emulation.setUserAgentOverride.
func (id identity) override(version string) map[string]any {
	major, _, _ := strings.Cut(version, ".")
	list := func(version, greased string) []map[string]string { return id.brandList(major, version, greased) }
	return map[string]any{
		"userAgent": id.userAgent(version), "acceptLanguage": strings.Join(id.languages, ","), "platform": "Linux x86_64",
		"userAgentMetadata": map[string]any{
			"brands": list(major, ""), "fullVersionList": list(version, ".0.0.0"), "platform": "Linux",
			"platformVersion": "", "architecture": "x86", "bitness": "64", "model": "", "mobile": false, "wow64": false,
		},
	}
}

// brandList is Chromium's own way to name its brands: their order, and a name that no browser has, follow from the
// major version (GenerateBrandVersionList in components/embedder_support/user_agent_utils.cc).
func (id identity) brandList(major, version, greased string) []map[string]string {
	seed, _ := strconv.Atoi(major)
	marks := []string{" ", "(", ":", "-", ".", "/", ")", ";", "=", "?", "_"}
	all := []map[string]string{
		{
			"brand":   "Not" + marks[seed%len(marks)] + "A" + marks[(seed+1)%len(marks)] + "Brand",
			"version": []string{"8", "99", "24"}[seed%3] + greased,
		},
		{"brand": "Chromium", "version": version},
	}
	order := [][]int{{0, 1}, {1, 0}}[seed%2]
	if id.brand != "" {
		all = append(all, map[string]string{"brand": id.brand, "version": version})
		order = [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}[seed%6]
	}
	out := make([]map[string]string, len(all))
	for i, place := range order {
		out[place] = all[i]
	}
	return out
}

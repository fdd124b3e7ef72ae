package prose_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/page"
)

func TestLanguage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Grand 4 1/2 à louer dans le quartier": "fr", "Large apartment for rent in the heart of the city": "en", "4 1/2": "",
		"":                            "",
		"GRAND LOGEMENT POUR JUILLET": "fr",
	} {
		assert.Equal(t, want, prose.Language(in), in)
	}
}

func TestReadIsLinear(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"<!--", "<a", "<script>", "&", "<", "</", "41/2", "1 ", "$", "- ", "a "} {
		prose.Read(page.Text(strings.Repeat(s, 200_000/len(s))))
	}
}

// The readers of topics are linear as well: a quadratic one takes minutes for each of these.
func TestTopicsAreLinear(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"+ 30% utilities ", "$100 + gas, ", "+ 100 month plus gas water ", "Utilities (hydro ", "heat (oil) and ",
		"place pour 2 autos ", "stall underground ", "1 parking on ", "one free parking spot $40 ", "NS,", "NP/", "POU ", "1 s-e ",
		"1er mai, bail ", "Août ou ", "Dec 1/", "Min. 4 months ", "pas de gros chiens ", "incluant tout : ", "internet by ",
		"tenant by tenant ", "lights extra, ", "frais (environ ", "~(70$ ", "excl. hydro, incl. heat ",
		"heat: gas ", "open hydro account ",
		"in the owner name ", "no gym or pool, ", "laundry next to the ", "hydro 50/50 ", "dogs over 30 lbs ",
		"no hydro bill ", "all but heat, ", "Heat: yes, ", "you don't pay heat ", "$5 parking ", "park 2 cars ", "$60 (indoor) or ",
		"utilities (heat) $5 ", "((heat)- extra heat)", "on request ($5 ",
		"the neighbour has a dog. ", "voisin, ", "ancien locataire paie, ", "si vous, demandez ", "vacant as of 1 ",
		"two other bedrooms and a third one ", "prise pour laveuse ", "12 / 14 Elm Ave, ", "owner lives, ",
		"condo sur Drolet ", "8245 Drolet, ", "on Main ", "1600$, maintenant "} {
		text := strings.Repeat(s, 100_000/len(s))
		start := time.Now()
		prose.ParseUtilities(text)
		prose.ParseParking(text)
		prose.ParsePets(text)
		prose.ParseAvailable(text)
		prose.ParseLease(text)
		prose.ParseFloor(text)
		prose.ParseAmenities(text)
		_, _ = prose.Normalize(listing.Raw{Title: "Logement", Description: text}, prose.Stated{}) // rent, address and all else
		took := time.Since(start)
		t.Logf("%q: %v", s, took.Round(time.Millisecond))
		assert.Less(t, took, 10*time.Second, "%q: alone on a core it is a fifth of a second", s)
	}
}

// FuzzRead reads any text.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"<div>a</div>", "a\x00\xff", "½4½", "\u0301", "é́"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) { prose.Read(page.Text(s)) })
}

func TestMeanings(t *testing.T) {
	t.Parallel()
	m := prose.Meanings(map[int]string{1: "chat  chats\n\tcat", 2: "chien"})
	if len(m) != 4 || m["cat"] != 1 || m["chien"] != 2 || m["loup"] != 0 {
		t.Errorf("meanings = %v", m)
	}
	defer func() {
		if recover() == nil {
			t.Error("a word with two meanings is taken")
		}
	}()
	prose.Meanings(map[int]string{1: "chat", 2: "chien chat"})
}

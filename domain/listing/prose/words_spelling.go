package prose

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// seam returns where a new word begins inside the letters s[i:j], or j: "inclusBalcon", from a page whose tags were
// dropped without a space. Short beginnings are names ("McGill", "WiFi", "DuProprio").
func (p *Prose) seam(i, j int) int {
	for k := i + 4; k < j; k++ {
		at := int(p.at[k])
		if c := p.text[at]; c > 'Z' && c < utf8.RuneSelf { // most letters
			continue
		}
		r, size := utf8.DecodeRuneInString(p.text[at:])
		last, _ := utf8.DecodeLastRuneInString(p.text[:at])
		next, _ := utf8.DecodeRuneInString(p.text[at+size:])
		if unicode.IsUpper(r) && unicode.IsLower(last) && unicode.IsLower(next) {
			return k
		}
	}
	return j
}

// respell corrects a word that no reader knows, and returns where it ends: "stationnnement" becomes "stationnement",
// of "chauffageinclus" the first word is taken.
func (t *token) respell(s string, i, j int) int {
	w := t.w
	if right, ok := misspelt[w]; ok {
		t.w, t.topic = right, topics[right]
		return j
	}
	if right := slip(w); right != "" {
		t.w, t.topic = right, topics[right]
		return j
	}
	if len(w) < 10 {
		return j
	}
	if k := len("entree"); strings.HasPrefix(w, "entree") && topics[w[k:]]&anAmenity != 0 { // "entréelaveuse"
		t.w, t.topic = w[:k], topics[w[:k]]
		return i + k
	}
	if strings.HasPrefix(w, "stati") && (strings.HasSuffix(w, "ment") || strings.HasSuffix(w, "ments")) {
		t.w = "stationnement"
		t.topic = topics[t.w]
		return j
	}
	if k := strings.LastIndex(w, "inclu"); k >= 4 && topics[w[k:]] != 0 && topics[w[:k]] != 0 {
		t.w, t.topic = w[:k], topics[w[:k]]
		return i + k
	}
	return j
}

// slip returns the long word of the vocabulary of which w has the letters, with two neighbours changed over or a letter
// doubled or not ("écaliré", "bedrooom", "imediatement"), or "". Other slips are in misspelt: a rule for a missing letter
// would find words where there are none.
func slip(w string) string {
	var buf [24]byte
	n := undoubled(&buf, w)
	if n < 6 {
		return ""
	}
	if right, ok := spellings[string(buf[:n])]; ok {
		return right
	}
	if !sums[lettersSum(buf[:n])] { // most words: no other order of the letters is in the vocabulary
		return ""
	}
	for i := 1; i+1 < n; i++ {
		buf[i], buf[i+1] = buf[i+1], buf[i]
		if right, ok := spellings[string(buf[:n])]; ok && buf[i] != buf[i+1] {
			return right
		}
		buf[i], buf[i+1] = buf[i+1], buf[i]
	}
	return ""
}

// undoubled writes w with each run of a letter as one, and returns its length, 0 for a word too long.
func undoubled(buf *[24]byte, w string) (n int) {
	for i := range len(w) {
		if i > 0 && w[i] == w[i-1] {
			continue
		}
		if n == len(buf) {
			return 0
		}
		buf[n] = w[i]
		n++
	}
	return n
}

// lettersSum is the same for any order of the letters.
func lettersSum(letters []byte) (sum uint32) {
	for _, c := range letters {
		sum += uint32(c) * uint32(c) * uint32(c) * 2654435761
	}
	return sum
}

// sums are those of the letters of spellings.
var sums = func() map[uint32]bool {
	m := make(map[uint32]bool, len(spellings))
	for w := range spellings {
		m[lettersSum([]byte(w))] = true
	}
	return m
}()

// spellings are the long words of the vocabulary without doubled letters. Where two words
// are the same without them, the shorter one stands.
var spellings = func() map[string]string {
	m := map[string]string{}
	for w, t := range topics {
		if len(w) < 6 || t&^(inFrench|inEnglish|anAmenity|aCost) == 0 {
			continue
		}
		var buf [24]byte
		if n := undoubled(&buf, w); n >= 6 {
			key := string(buf[:n])
			if have := m[key]; have == "" || len(w) < len(have) || len(w) == len(have) && w < have {
				m[key] = w
			}
		}
	}
	return m
}()

// misspelt are slips that adverts repeat. A rule for all of them would find words where there are none.
var misspelt = map[string]string{
	"cessassion": "cession", "cessession": "cession", "jullet": "juillet", "juilet": "juillet", "julliet": "juillet",
	"juilliet": "juillet", "juillett": "juillet",
	"fevier": "fevrier", "ferier": "fevrier", "fervier": "fevrier", "setembre": "septembre",
	"septembe": "septembre", "novenbre": "novembre", "decenbre": "decembre", "maitenant": "maintenant",
	"mantenant": "maintenant", "imediatement": "immediatement", "immediatment": "immediatement",
	"immediatemment": "immediatement", "immediatly": "immediately", "imediately": "immediately",
	"immediatley": "immediately", "avaliable": "available", "availble": "available", "availabe": "available",
	"disponble": "disponible", "disponnible": "disponible", "disponibe": "disponible", "eletricite": "electricite",
	"electricitee": "electricite", "electicite": "electricite", "eclerage": "eclairage", "chaufage": "chauffage",
	"chauffages": "chauffage", "chaufe": "chauffe", "chaufee": "chauffee", "eclere": "eclaire",
	"inclued": "included", "inlcus": "inclus", "funished": "furnished", "furnised": "furnished",
	"stationnment": "stationnement", "immediatem": "immediatement",
	"apartement": "appartement", "bedrm": "bedroom", "bathrm": "bathroom", "bathrooom": "bathroom", "bedrom": "bedroom",
	"stuido": "studio", "baedroom": "bedroom", "electrcity": "electricity", "utilties": "utilities",
	"untilities": "utilities", "seperate": "separate", "seperately": "separately",
	"comprends": "comprend", "comprent": "comprend", "comprant": "comprenant", "incluts": "inclut",
	"inclusent": "incluent",
	"inculded":  "included", "inluded": "included", "inclded": "included",
	"fermes": "fermees", "juille": "juillet", "janvie": "janvier", "septemb": "septembre", "octobr": "octobre",
	"novemb": "novembre", "decemb": "decembre", "immedia": "immediatement",
	"mainteant": "maintenant", "mainenant": "maintenant", "maintenat": "maintenant",
	"extrieur": "exterieur", "intrieur": "interieur", "scheuse": "secheuse", "immdiat": "immediat",
	"lectricit": "electricite", "laceuse": "laveuse", "lavesue": "laveuse", "uillet": "juillet",
	"terasse": "terrasse", "terasses": "terrasses", "ascenceur": "ascenseur", "ascenceurs": "ascenseurs",
	"danimaux": "animaux", "danimal": "animal", "linternet": "internet", "dinternet": "internet",
	"lelectricite": "electricite", "lhydro": "hydro",
	"includ": "included", "furnish": "furnished", "parkin": "parking", "parkng": "parking", "gararge": "garage",
}

package page

import (
	"slices"
	"strings"
)

// notFounds are what pages say of an address that leads nowhere, as a whole part of a title or a heading.
var notFounds = strings.Split("not found|page not found|404 not found|404 page not found|page not found 404|"+
	"file not found|that page can’t be found|that page can't be found|this page could not be found|"+
	"this page cannot be found|the page could not be found|this page doesn't exist|this page doesn’t exist|"+
	"this page does not exist|page does not exist|page doesn't exist|page doesn’t exist|this page isn't available|"+
	"this page isn’t available|error 404|404 error|http 404|http error 404|"+
	"page introuvable|page non trouvée|page inexistante|cette page n'existe pas|cette page n’existe pas|erreur 404|"+
	"page introuvable 404|404 page introuvable|seite nicht gefunden|seite wurde nicht gefunden|"+
	"die seite wurde nicht gefunden|fehler 404|página no encontrada|pagina no encontrada|página não encontrada|"+
	"erro 404|pagina non trovata|errore 404|pagina niet gevonden|fout 404|strona nie została znaleziona|"+
	"nie znaleziono strony|błąd 404|страница не найдена|ошибка 404|сторінку не знайдено|помилка 404|sayfa bulunamadı|"+
	"hata 404|页面不存在|找不到页面|页面未找到|找不到頁面|頁面不存在|ページが見つかりません|페이지를 찾을 수 없습니다|"+
	"الصفحة غير موجودة|sidan kunde inte hittas|sidan hittades inte|siden ble ikke funnet|siden blev ikke fundet|"+
	"sivua ei löytynyt|stránka nenalezena|stránka nebyla nalezena|stránka sa nenašla|az oldal nem található|"+
	"pagina nu a fost găsită|η σελίδα δεν βρέθηκε", "|")

// Bounds of the text of a page that says no more than that it is not there, in bytes.
const (
	shortPage = 2000
	emptyPage = 300
)

// NotFound says that a page that was answered as any other is the one that a site shows where an address leads nowhere.
// Its title says so, and a heading or a short text does too, or there is next to no text. Of the Reading it needs Text.
// A number alone says nothing: a Peugeot is a 404.
func (r Reading) NotFound() bool {
	title, plainly := says(strings.ToLower(r.Title))
	if !title {
		return false
	}
	if len(r.Text) < emptyPage && plainly {
		return true
	}
	body := false
	for _, heading := range r.Headings {
		said, plain := says(heading)
		body, plainly = body || said, plainly || plain
	}
	inText := func(w string) bool { return strings.Contains(r.Text, w) }
	if len(r.Text) < shortPage && slices.ContainsFunc(notFounds, inText) {
		body, plainly = true, true
	}
	return body && plainly
}

// says says that a part of a title or a heading, lower case, is one of notFounds, plainly, or the number alone.
func says(text string) (said, plainly bool) {
	ends := func(c rune) bool { return strings.ContainsRune("|–—-·:»•/!?.,¡¿…()\"“”", c) }
	for part := range strings.FieldsFuncSeq(text, ends) {
		part = strings.Join(strings.Fields(part), " ")
		if slices.Contains(notFounds, part) {
			return true, true
		}
		said = said || part == "404"
	}
	return said, false
}

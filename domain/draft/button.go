package draft

import (
	"strings"

	"golang.org/x/net/html/atom"

	plain "github.com/mtlrent/conveyor/domain/page"
)

// The texts of buttons that buy, in the languages of shops; lower case, looked for at the beginning or as a whole.
var buyWords = []string{"add to cart", "add to basket", "add to bag", "add to trolley", "add to shopping",
	"add to my bag", "buy now", "buy it now", "buy", "add item", "place bid", "bid now", "add to order", "purchase",
	"order now", "checkout now", "in den warenkorb", "in den einkaufswagen", "in den korb", "jetzt kaufen",
	"sofort-kaufen", "sofort kaufen", "kaufen", "ajouter au panier", "ajouter à mon panier", "ajouter au cabas",
	"acheter", "j'achète", "mettre au panier", "aggiungi al carrello", "acquista", "compra", "añadir",
	"agregar al carro", "agregar al carrito", "agregar a la bolsa", "lo quiero", "adicionar ao carrinho",
	"adicionar à sacola", "adicionar ao cesto", "do koszyka", "dodaj do koszyka", "kup teraz", "kup", "do košíka",
	"vložiť do košíka", "pridať do košíka", "kúpiť", "přidat do košíku", "do košíku", "koupit", "adauga in cos",
	"adaugă în coș", "adauga în coş", "cumpara", "cumpără", "kosárba", "in winkelwagen", "in winkelmandje",
	"voeg toe aan", "bestel", "læg i kurv", "lägg i varukorg", "köp", "kjøp", "legg i handlekurv",
	"lisää ostoskoriin", "lisa ostukorvi", "į krepšelį", "pievienot grozam", "sepete ekle", "hemen al", "satın al",
	"προσθήκη στο καλάθι", "αγορά", "в корзину", "добавить в корзину", "купить", "у кошик", "купити", "в кошик",
	"добави в количката", "カートに入れる", "カートに追加", "買い物かごに入れる", "ご購入手続き", "加入購物車", "加入购物车", "立即購買", "立即购买", "直接購買",
	"放入購物車", "장바구니", "바로구매", "أضف إلى", "اضف الى", "اشتري", "הוסף לסל", "ใส่ตะกร้า", "เพิ่มลงในรถเข็น",
	"thêm vào giỏ", "mua ngay", "tambah ke keranjang", "beli sekarang", "masukkan keranjang", "dodaj u", "u košaricu",
	"v košarico", "contact seller", "chat with seller", "message seller", "call seller", "contact supplier",
	"kupi odmah", "kupi sada", "dodaj v košarico", "u korpu", "osta kohe", "lisa korvi", "ielikt grozā", "likt grozā",
	"dėti į krepšelį", "pridėti į krepšelį", "vložit do košíku", "megrendelem", "megveszem", "поръчай",
	"добави в кошница", "додати в кошик", "замовити", "оформить заказ", "στο καλάθι", "αγόρασε", "sepete at",
	"הוסף לעגלה", "הוספה לעגלה", "הוספה לסל", "קנה עכשיו", "קנו עכשיו", "לרכישה", "הזמן עכשיו", "اشتر الآن",
	"أضف للسلة", "اضف للسلة", "إضافة إلى السلة", "شراء", "바로 구매", "구매", "加到購物車", "加入购物袋", "放入购物车", "馬上買", "立刻購買",
	"购买", "購買", "カートへ", "今すぐ買う", "ซื้อเลย", "หยิบใส่ตะกร้า", "ซื้อสินค้า", "cho vào giỏ", "đặt mua", "mua hàng",
	"tambah ke troli", "kaupa", "setja í körfu", "lägg i kundvagn", "legg i kurv", "tilføj til kurv", "til kurv",
	"osta nyt", "lisää koriin", "ajouter au sac", "aggiungi alla borsa", "in mijn winkelwagen", "in de winkelwagen",
	"koop nu", "zum warenkorb", "jetzt bestellen", "add to tote", "reserve now", "place order", "contact the seller",
	"make an offer", "make offer", "go to store", "go to shop", "visit store", "zum shop", "zum angebot",
	"voir l'offre", "get deal", "view deal"}

// buyAlone buy where a button says nothing else: "ajouter", but not "ajouter à ma liste".
var buyAlone = wordSet(`kupi naruči naroči osta pirkt pirkti zamów objednať objednat comandă comanda заказать προσθήκη beli
	handla ajouter commander réserver ordina adicionar купи`)

// findButton finds the button that buys: the first after the product's name that is not of another product, else the
// first at all.
func (p *page) findButton() {
	best := 0.0
	for i := range p.els {
		e := &p.els[i]
		if e.end-e.start > 80 || e.marks&veiled != 0 {
			continue
		}
		control := e.tag == atom.Button || e.tag == atom.A || e.tag == atom.Input || attr(e.node, "role") == "button"
		if !control || has(e.node, "disabled") || attr(e.node, "aria-disabled") == "true" {
			continue
		}
		points := 0.0
		if text := strings.ToLower(p.of(i)); text != "" && buysBy(text) {
			points = p.w[buttonText]
		} else if text := strings.ToLower(attr(e.node, "aria-label") + attr(e.node, "title")); text != "" && buysBy(text) {
			points = p.w[buttonLabel]
		} else if e.own&buys != 0 && e.own&(aside|chrome) == 0 && e.tag != atom.A {
			points = p.w[buttonNamed]
		}
		if points == 0 || p.beside(i) {
			continue
		}
		if strings.Contains(strings.ToLower(attr(e.node, "class")), "disabled") {
			points /= p.w[buttonDisabled]
		}
		if p.title >= 0 && e.start < p.els[p.title].start {
			points += p.w[buttonAbove]
		}
		if points > best+buttonMargin {
			best, p.button = points, i
		}
	}
}

// buysBy says that a button's text is one that buys.
func buysBy(text string) bool {
	if len(text) > 60 || strings.HasPrefix(text, "added") {
		return false
	}
	if rest, ok := strings.CutPrefix(text, "add "); ok { // to your basket, 2 to cart
		for _, w := range []string{"basket", "cart", "bag", "trolley"} {
			if strings.Contains(rest, w) {
				return true
			}
		}
	}
	if buyAlone[strings.Trim(text, " .!+>»→")] {
		return true
	}
	if len(text) < buyKey {
		return false
	}
	for _, w := range buyBeginning[text[:buyKey]] {
		if text == w || len(w) > 4 && strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

// buyKey is how many bytes of a text of a button choose those of buyWords that it may begin with, by buyBeginning.
const buyKey = 3

var buyBeginning = func() map[string][]string {
	m := map[string][]string{}
	for _, w := range buyWords {
		m[w[:buyKey]] = append(m[w[:buyKey]], w)
	}
	return m
}()

// sells says that there is a button that buys, and which does not say that the product cannot be had: some shops leave
// it as it is but for its text.
func (p *page) sells() bool {
	if p.button < 0 {
		return false
	}
	text := strings.ToLower(p.of(p.button))
	start, _ := outAt(text)
	return start < 0 || buysBy(text)
}

// preOrders says that a button orders the product ahead, and none buys it.
func (p *page) preOrders() bool {
	if p.button >= 0 {
		return ordersAhead(p.of(p.button))
	}
	for i := max(p.title, 0); i < len(p.els); i++ {
		if p.els[i].tag == atom.Button && ordersAhead(p.of(i)) && !p.beside(i) && !p.veiledAt(i) {
			return true
		}
	}
	return false
}

// ordersAhead says that the text of a button begins with one of preWords.
func ordersAhead(text string) bool {
	start, _ := preWords.find(strings.ToLower(plain.CutBytes(text, 40)))
	return start == 0
}

// sellsAnother says that the button that buys stands by amounts none of which is the price, apart from the product's
// name: it is of a set, or of another seller.
func (p *page) sellsAnother() bool {
	if p.price == "" {
		return false
	}
	for up := p.button; up >= 0 && !p.holdsTitle(up); up = p.els[up].parent {
		e, another := &p.els[up], false
		for _, a := range p.amounts {
			if a.start < e.start || a.end > e.end {
				continue
			}
			if canonical(a.amount) == p.price {
				return false
			}
			another = true
		}
		if another {
			return true
		}
	}
	return false
}

package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// signed is a value that may begin with a minus sign: a word of any other flag that does is taken for the next flag.
type signed string

// Decode takes a word such as -100, besides what every flag takes.
func (s *signed) Decode(ctx *kong.DecodeContext) error {
	word, _ := ctx.Scan.Peek().Value.(string)
	if digits, ok := strings.CutPrefix(word, "-"); ok && digits != "" && strings.Contains("0123456789.", digits[:1]) {
		*s = signed(ctx.Scan.Pop().String())
		return nil
	}
	return ctx.Scan.PopValueInto("string", (*string)(s))
}

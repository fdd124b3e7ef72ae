package contact_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// TestCodes has each code of a problem explained in docs/contacts.md.
func TestCodes(t *testing.T) {
	t.Parallel()

	source := sharedtest.Read(t, "contact.go")
	docs := sharedtest.Read(t, "../../docs/contacts.md")
	codes := regexp.MustCompile(`(?m)^\s+Code\w+\s+= "(\w+)"`).FindAllSubmatch(source, -1)
	for _, code := range codes {
		if !strings.Contains(string(docs), "`"+string(code[1])+"`") {
			t.Errorf("docs/contacts.md does not explain %s", code[1])
		}
	}
	if len(codes) < 15 {
		t.Errorf("only %d codes were found", len(codes))
	}
}

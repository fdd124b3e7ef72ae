package contact_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCodes has each code of a problem explained in docs/contacts.md.
func TestCodes(t *testing.T) {
	t.Parallel()

	source, err := os.ReadFile("contact.go")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../docs/contacts.md")
	if err != nil {
		t.Fatal(err)
	}
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

package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(\.\./([^)]+)\)`)

// Each row of the failure matrix is documented with links to what provokes it, and what a link leads to names the row.
func TestTheMatrixIsLinked(t *testing.T) {
	doc, err := os.ReadFile("../docs/durability.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 36; n++ {
		row := fmt.Sprintf("F%02d", n)
		_, line, ok := strings.Cut(string(doc), "\n| "+row+" |")
		line, _, _ = strings.Cut(line, "\n")
		links := link.FindAllStringSubmatch(line, -1)
		switch {
		case !ok:
			t.Errorf("%s has no line", row)
		case n >= 20 && n <= 22: // the Gateway relay's
			continue
		case len(links) == 0:
			t.Errorf("%s has no link", row)
		}
		for _, l := range links {
			raw, err := os.ReadFile(filepath.Join("..", l[1]))
			if err != nil || !strings.Contains(string(raw)+l[1], row) {
				t.Errorf("%s: %s does not name it (%v)", row, l[1], err)
			}
		}
	}
}

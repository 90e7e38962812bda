package render

import (
	"fmt"
	"strings"
	"testing"
)

// laws are what spec 6.4 says of every split.
func laws(t *testing.T, text string) {
	t.Helper()
	joined := ""
	for i, p := range pieces(text, MaxContent) {
		chunk := p.open + p.body + p.end
		if n := units(chunk); n > MaxContent {
			t.Errorf("chunk %d has %d units", i, n)
		}
		if strings.Count(chunk, fence)%2 != 0 {
			t.Errorf("chunk %d leaves a block open: %q", i, chunk)
		}
		if p.body == "" {
			t.Errorf("chunk %d is empty", i)
		}
		if p.open != "" && !strings.HasPrefix(p.open, fence) || p.end != "" && strings.TrimPrefix(p.end, "\n") != fence {
			t.Errorf("chunk %d adds %q and %q", i, p.open, p.end)
		}
		joined += p.body
	}
	if joined != text {
		t.Errorf("joined differs at byte %d", commonPrefix(joined, text))
	}
}

func commonPrefix(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return i
}

func FuzzSplit(f *testing.F) {
	code := "```go\n" + strings.Repeat("\tif x := f(); x != nil {\n", 200) + "```\n"
	for _, s := range []string{
		"", "a", "```", strings.Repeat("`", 5000), strings.Repeat("word ", 900), strings.Repeat("😀", 1500), code, "text\n\n" + code + "text",
		"```" + strings.Repeat("i", 300) + "\n" + strings.Repeat("x\n", 2000) + "```", strings.Repeat("é", 4000), "```" + strings.Repeat("i", 3000) + "\nx```",
		strings.Repeat(" ", 5000), strings.Repeat("\n", 5000), strings.Repeat("a```b", 900), strings.Repeat("🇩🇪", 900), "\xff" + strings.Repeat("\xfe", 3000),
		"```\n" + strings.Repeat(" ", 3000) + "\n```", strings.Repeat("````md\n```go\nx\n```\n````\n", 200),
	} {
		f.Add(s, uint16(0))
		f.Add(s, uint16(1900))
	}
	f.Fuzz(func(t *testing.T, s string, pad uint16) {
		s = strings.Repeat("x", int(pad%2100)) + s
		laws(t, s)
		laws(t, strings.Repeat(s, 1+2500/(len(s)+1)))
		n := Normalize(s)
		laws(t, n)
		if Normalize(n) != n {
			t.Errorf("Normalize is not idempotent for %q", s)
		}
		for i, chunk := range Split(n) {
			if strings.TrimFunc(strings.ReplaceAll(chunk, fence, ""), blank) == "" && strings.TrimFunc(strings.ReplaceAll(n, fence, ""), blank) != "" && !strings.Contains(n, fence) {
				t.Errorf("chunk %d of %q is blank", i, n)
			}
		}
	})
}

func TestSplitLongBlock(t *testing.T) {
	var b strings.Builder
	b.WriteString("Here it is:\n\n```go\n")
	for i := range 300 {
		fmt.Fprintf(&b, "\tline %d := \"some text\"\n", i)
	}
	b.WriteString("```\nDone.")
	laws(t, b.String())
	chunks := Split(b.String())
	if len(chunks) < 4 {
		t.Fatalf("%d chunks", len(chunks))
	}
	for i, c := range chunks {
		if i > 0 && !strings.HasPrefix(c, "```go\n\tline ") {
			t.Errorf("chunk %d begins %q: the block is not reopened at a line with its indentation", i, c[:20])
		}
		if i < len(chunks)-1 && !strings.HasSuffix(c, "\"\n```") {
			t.Errorf("chunk %d ends %q", i, c[len(c)-20:])
		}
	}
}

func TestSplitPlaces(t *testing.T) {
	fill := func(n int) string { return strings.Repeat("x", n) }
	block := "```go\n" + strings.Repeat("y\n", 400) + "```\n"
	for _, tt := range []struct{ name, text, second string }{
		{"paragraph before line", fill(900) + "\n\n" + fill(900) + "\n" + fill(900), fill(900) + "\n" + fill(900)},
		{"line before sentence", fill(1100) + "\n" + fill(700) + ". " + fill(900), fill(700) + ". " + fill(900)},
		{"sentence before word", fill(1100) + ". " + fill(500) + " " + fill(900), fill(500) + " " + fill(900)},
		{"word", fill(1500) + " " + fill(900), fill(900)},
		{"a small block is not torn", fill(1500) + "\n" + block, block},
		{"fits exactly", fill(2000), ""},
		{"a block that ends at the limit", "```\n" + fill(1992) + "\n```", ""},
		{"one more", "```\n" + fill(1993) + "\n```", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			laws(t, tt.text)
			chunks := Split(tt.text)
			if tt.second != "" && (len(chunks) != 2 || chunks[1] != tt.second) {
				t.Errorf("%d chunks, the second begins %.40q", len(chunks), chunks[len(chunks)-1])
			}
			if strings.HasSuffix(tt.name, "limit") || strings.HasPrefix(tt.name, "fits") {
				if len(chunks) != 1 {
					t.Errorf("%d chunks", len(chunks))
				}
			}
		})
	}
}

func TestSplitCharacters(t *testing.T) {
	for _, cluster := range []string{"😀", "👩‍👩‍👧", "🇩🇪", "e\u0301", "👍🏽", "\r\n", "각"} {
		text := "x" + strings.Repeat(cluster, 3000/units(cluster))
		laws(t, text)
		for i, c := range Split(text) {
			if i == 0 {
				c = c[1:]
			}
			if rest := strings.ReplaceAll(c, cluster, ""); rest != "" {
				t.Errorf("%q was torn in chunk %d: %q", cluster, i, rest)
			}
		}
	}
}

func TestLongInfoString(t *testing.T) {
	info := strings.Repeat("i", 300)
	chunks := Split("```" + info + "\n" + strings.Repeat("line\n", 1000) + "```")
	for i, c := range chunks {
		if !strings.HasPrefix(c, "```"+info+"\n") {
			t.Errorf("chunk %d begins %.30q", i, c)
		}
	}
}

func TestNormalize(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", NoResponse}, {" \n\t ", NoResponse}, {"\u200b", NoResponse}, {"  a  ", "a"}, {"a\n\n\n\n\n\nb", "a\n\n\nb"}, {"a\n\n\nb", "a\n\n\nb"},
		{"a\r\nb", "a\nb"}, {"\xffa", "\uFFFDa"}, {"a\n    b", "a\n    b"}, {"a" + strings.Repeat(" ", 900) + "b", "a" + strings.Repeat(" ", 400) + "b"},
	} {
		if got := Normalize(tt.in); got != tt.want {
			t.Errorf("Normalize(%.20q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

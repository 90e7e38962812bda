package interactions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{``, "not JSON"},
		{` `, "not JSON"},
		{"\x00", "not JSON"},
		{`{} {}`, "not JSON"},
		{"{}\x00", "not JSON"},
		{`{"a":1,}`, "not JSON"},
		{`{"a" 1}`, "not JSON"},
		{`{a:1}`, "not JSON"},
		{`[1,]`, "not JSON"},
		{`[1`, "not JSON"},
		{`[`, "not JSON"},
		{`{"a`, "not JSON"},
		{`"\`, "not JSON"},
		{`"\"`, "not JSON"},
		{`"\x"`, "not JSON"},
		{`"\u12"`, "not JSON"},
		{"\"a\nb\"", "not JSON"},
		{`01`, "not JSON"},
		{`-`, "not JSON"},
		{`1.`, "not JSON"},
		{`1e+`, "not JSON"},
		{`+1`, "not JSON"},
		{`truely`, "not JSON"},
		{`nul`, "not JSON"},
		{`{"a":1,"b":2,"a":3}`, `the key "a" is there twice`},
		{`{"a":1,"\u0061":3}`, `the key "a" is there twice`},
		{object40(`"k7":1`), `the key "k7" is there twice`},
		{strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2), "nested deeper than 64"},
		{"[" + strings.Repeat("1,", maxValues) + "1]", "more than 60000 values"},
	} {
		if _, err := parse([]byte(c.body)); err == nil || !strings.Contains(err.Message, c.want) {
			t.Errorf("%.40q: got %v, want %q", c.body, err, c.want)
		}
	}
}

// object40 has more keys than are compared one by one.
func object40(last string) string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `"k%d":{"k1":[]},`, i)
	}
	return "{" + b.String() + last + "}"
}

func TestPathsOfErrors(t *testing.T) {
	doc, err := parse([]byte(`{"data":{"options":[{"name":"x"},{"name":[1,{"y":null}]}]},"n":1}`))
	if err != nil {
		t.Fatal(err)
	}
	options := doc.field("data").field("options").list(9)
	for _, c := range []struct {
		v    value
		want string
	}{
		{doc, "The body"},
		{doc.field("n"), "n"},
		{doc.field("who").field("id"), "who.id"},
		{options[0].field("name"), "data.options[0].name"},
		{options[1].field("name").list(9)[1].field("y"), "data.options[1].name[1].y"},
		{options[1].field("value").field("z"), "data.options[1].value.z"},
	} {
		if got := c.v.name(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// FuzzJSON compares with encoding/json: what it refuses is refused here, and what is accepted here reads the same.
func FuzzJSON(f *testing.F) {
	for _, dir := range []string{"interactions", "malformed", "gateway"} {
		files, _ := filepath.Glob(filepath.Join("testdata", dir, "*"))
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Add([]byte(object40(`"last":[-0.5e+3,"\ud800\n",true,null]`)))
	f.Add([]byte("{\"\xff\":\"\u00e9\\u00e9\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, bad := parse(body)
		if !json.Valid(body) {
			if bad == nil {
				t.Fatalf("accepted, though it is no JSON: %q", body)
			}
			return
		}
		if bad != nil {
			if strings.Contains(bad.Message, "not JSON") {
				t.Fatalf("refused, though it is JSON: %q", body)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := plain(doc); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q reads as %#v, want %#v", body, got, want)
		}
	})
}

// plain is a value as encoding/json would give it.
func plain(v value) any {
	n := v.nodes[v.at]
	switch n.kind {
	case boolean:
		return v.flag()
	case number:
		return json.Number(n.text)
	case text:
		return n.text
	case list:
		items := []any{}
		for _, x := range v.list(maxValues) {
			items = append(items, plain(x))
		}
		return items
	case object:
		members := map[string]any{}
		for i := v.at + 1; i < n.end; i = v.nodes[i].end {
			members[v.nodes[i].text] = plain(v.field(v.nodes[i].text))
		}
		return members
	}
	return nil
}

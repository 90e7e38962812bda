package interactions

import "testing"

func TestParseCustomID(t *testing.T) {
	cases := []struct {
		in   string
		want CustomID
		ok   bool
	}{
		{"a:1/platform:1764470000.12", CustomID{"a", "1", "platform", "1764470000.12", ""}, true},
		{"q:1/p:1.t9:two:parts", CustomID{"q", "1", "p", "1.t9", "two:parts"}, true},
		{"", CustomID{}, false},
		{"a", CustomID{}, false},
		{"a:1/p", CustomID{}, false},
		{"a:1:1.2", CustomID{}, false},
		{"x:1/p:1.2", CustomID{}, false},
		{"ad:1/p:1.2", CustomID{}, false},
		{":1/p:1.2", CustomID{}, false},
		{"a:01/p:1.2", CustomID{}, false},
		{"a:1/-p:1.2", CustomID{}, false},
		{"a:1/P:1.2", CustomID{}, false},
		{"a:1/p/q:1.2", CustomID{}, false},
		{"a:1/p:12", CustomID{}, false},
		{"a:1/p:1.", CustomID{}, false},
		{"a:1/p:.2", CustomID{}, false},
		{"a:1/p:1.2.3", CustomID{}, false},
	}
	for _, c := range cases {
		got, ok := ParseCustomID(c.in)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("ParseCustomID(%q) = %+v, %v", c.in, got, ok)
		}
	}
}

func FuzzParseCustomID(f *testing.F) {
	f.Add("a:1300000000000000100/platform:1764470000.12")
	f.Add("q:1/p:1.2:yes")
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := ParseCustomID(s)
		if !ok {
			return
		}
		if again, ok := ParseCustomID(c.String()); !ok || again != c {
			t.Errorf("%q gives %+v, whose text gives %+v, %v", s, c, again, ok)
		}
	})
}

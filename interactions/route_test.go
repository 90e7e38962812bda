package interactions

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func wire(t testing.TB, r Request, body []byte) []byte {
	t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(line, '\n'), body...)
}

func TestRoute(t *testing.T) {
	body := fixture(t, askBody)
	out, rc := Route(wire(t, signed(body), body))
	if v := as[Verdict](t, out); rc != 0 || len(v.Deliver) != 1 {
		t.Errorf("rc %d, verdict %s", rc, out)
	}
	for _, in := range []string{"", "{}", "x\n", "[]\n{}"} {
		out, rc := Route([]byte(in))
		e := as[struct{ Code, Message string }](t, out)
		if rc != 1 || e.Code != "invalid" || e.Message == "" {
			t.Errorf("Route(%q) = %s, %d", in, out, rc)
		}
	}
}

// FuzzRoute holds Route to its laws with bodies that reach every decoder: as a signed interaction, as a relay's batch
// and as an operator's settings. It never panics, never answers 5xx, answers or delivers but not both, and the same
// input has the same output.
func FuzzRoute(f *testing.F) {
	for _, dir := range []string{"interactions", "malformed", "gateway"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
		if err != nil || len(files) == 0 {
			f.Fatal(dir, err)
		}
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(0), b)
			f.Add(byte(1), append(append([]byte(`{"events":[`), b...), `]}`...))
		}
	}
	f.Add(byte(2), []byte(`{"bindings":["1"],"policy":{}}`))
	f.Add(byte(3), []byte("{}\n{}"))
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		in := body
		switch kind % 4 {
		case 0:
			in = wire(t, signed(body), body)
		case 1:
			in = wire(t, relayed(), body)
		case 2:
			in = wire(t, operated("PUT", base+"config", RoleAdmin), body)
		}
		out, rc := Route(in)
		again, _ := Route(in)
		if !bytes.Equal(out, again) {
			t.Fatalf("two answers to one input:\n%s\n%s", out, again)
		}
		if rc == 0 {
			lawful(t, out)
		}
	})
}

func lawful(t *testing.T, out []byte) {
	t.Helper()
	v := as[Verdict](t, out)
	if v.Reply == nil && v.Mode == "" || v.Reply != nil && len(v.Deliver) > 0 {
		t.Errorf("neither or both of answer and delivery: %s", out)
	}
	if v.Reply != nil && (v.Reply.Status < 200 || v.Reply.Status >= 500) {
		t.Errorf("status %d", v.Reply.Status)
	}
	for _, d := range v.Deliver {
		if (d.Answer == nil) == (d.Actor == "" && d.Resolve == nil) {
			t.Errorf("delivery %+v goes nowhere, or somewhere and nowhere", d)
		}
	}
}

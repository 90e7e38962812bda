package web

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// sinks are the ways by which a script turns text into markup or code.
var sinks = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTMLUnsafe|srcdoc|DOMParser|createContextualFragment|javascript:`)

func TestNoScriptTurnsTextIntoMarkup(t *testing.T) {
	n := 0
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		n++
		text := string(raw)
		if hit := sinks.FindString(text); hit != "" {
			t.Errorf("%s uses %s", path, hit)
		}
		if strings.HasSuffix(path, ".html") && regexp.MustCompile(`(?i)\son\w+=|<style|\sstyle=`).MatchString(text) {
			t.Errorf("%s has inline script or style, which the policy forbids", path)
		}
		if lines := strings.Count(text, "\n"); lines > 400 {
			t.Errorf("%s has %d lines", path, lines)
		}
		return nil
	})
	if err != nil || n < 10 {
		t.Fatal(n, err)
	}
}

func TestHeaders(t *testing.T) {
	for _, path := range []string{"/", "/js/main.js", "/css/base.css", "/nothing"} {
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; script-src 'self'; style-src 'self'") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: no nosniff", path)
		}
	}
}
